import { type Hex, RpcError } from '@upfront/protocol'
import type { Decoded, DecodedFrame } from '@upfront/simulation'
import {
  type Abi,
  type AbiFunction,
  type AbiParameter,
  decodeFunctionData,
  encodeFunctionData,
  parseAbiItem,
} from 'viem'
import { RECORDED, recordedInspection } from './recorded-inspection.js'

// Decodes all calls of real blocks, inner ones too, by built-in signatures, and checks the results with viem.

interface Seen {
  input: Hex
  call: Decoded
}

/** Every call with input in a block's transactions, run separately. */
async function callsOf(name: string): Promise<{ input: Hex; call: Decoded | undefined }[]> {
  const { transactions, inspect, close } = recordedInspection(name)
  const found: { input: Hex; call: Decoded | undefined }[] = []
  for (const { from, to, input, value } of transactions) {
    const call = { from, ...(to && { to }), input, value }
    const top = await inspect([call], { decode: true, trace: { name: 'callTracer', config: {} } }).then(
      ({ calls }) => calls[0]!.trace as DecodedFrame,
      (error: unknown) => {
        // It depends on earlier transactions.
        if (error instanceof RpcError) return undefined
        throw error
      },
    )
    const open = top === undefined ? [] : [top]
    for (let frame = open.pop(); frame !== undefined; frame = open.pop()) {
      open.push(...(frame.calls ?? []))
      if (frame.type.startsWith('CREATE') || frame.input.length < 10) continue
      found.push({ input: frame.input, call: frame.decoded?.call })
    }
  }
  await close()
  return found
}

/** The value in viem's form: integers as bigint, tuples by name. */
function viemValue(
  { type, components, ...rest }: AbiParameter & { components?: readonly AbiParameter[] },
  value: unknown,
): unknown {
  if (type.endsWith(']')) {
    const item = { ...rest, type: type.slice(0, type.lastIndexOf('[')), ...(components && { components }) }
    return (value as unknown[]).map((each) => viemValue(item, each))
  }
  if (type === 'tuple') return (components ?? []).map((field, at) => viemValue(field, argument(value, field, at)))
  return /^u?int/.test(type) ? BigInt(value as string) : value
}

const argument = (args: unknown, { name }: AbiParameter, at: number) =>
  (args as Record<string, unknown>)[name === undefined || name === '' ? at : name]

/** Whether the arguments encode to the input's bytes, or at least match viem's decoding. */
function judge({ input, call }: Seen): 'equal' | 'decodes' | 'wrong' {
  const item = parseAbiItem(`function ${call.signature}`) as AbiFunction
  // By position: names may repeat.
  const args = item.inputs.map((field, at) => viemValue(field, argument(call.args, field, at)))
  const nameless = (parameter: AbiParameter): AbiParameter => {
    const { type, components } = parameter as AbiParameter & { components?: readonly AbiParameter[] }
    return { type, ...(components && { components: components.map(nameless) }) } as AbiParameter
  }
  const abi: Abi = [{ ...item, inputs: item.inputs.map(nameless) }]
  // A call may have more bytes than its function reads.
  if (input.startsWith(encodeFunctionData({ abi, functionName: item.name, args }))) return 'equal'
  const { args: decoded } = decodeFunctionData({ abi, data: input })
  const text = (value: unknown) =>
    JSON.stringify(value, (_, each) =>
      typeof each === 'bigint' ? `${each}` : typeof each === 'string' ? each.toLowerCase() : each,
    )
  return text(decoded) === text(args) ? 'decodes' : 'wrong'
}

it('decodes over 60% of the calls in real blocks, all as viem does', async () => {
  const calls = (await Promise.all(RECORDED.map(callsOf))).flat()
  const decoded = calls.filter((each): each is Seen => each.call !== undefined)
  const verdicts = decoded.map(judge)
  const count = (verdict: string) => verdicts.filter((each) => each === verdict).length
  expect(decoded.filter((_, at) => verdicts[at] === 'wrong').map(({ input, call }) => [call.signature, input])).toEqual(
    [],
  )
  expect(count('equal')).toBeGreaterThan(1_000)
  expect(decoded.length / calls.length).toBeGreaterThan(0.6)
}, 300_000)
