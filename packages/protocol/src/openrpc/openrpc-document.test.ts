import { RpcError } from '../rpc-error.js'
import { decodeSimulationRequest } from '../simulate/decode-simulation-request.js'
import { DEFAULT_SIMULATION_LIMITS } from '../simulate/simulation-limits.js'
import { openRpcDocument } from './openrpc-document.js'
import { OTHER_SERVICES } from './other-services.js'
import { SCHEMAS } from './schemas.js'

const served = [
  ...[
    'rpc.discover',
    'eth_call',
    'debug_traceCall',
    'eth_newFilter',
    'eth_subscribe',
    'eth_unsubscribe',
    'eth_simulateV1',
  ],
  ...['upfront_simulate', 'upfront_subscribe', ...OTHER_SERVICES.map(({ name }) => name)],
]
const document = openRpcDocument({ version: '1.2.3', served })
const A = `0x${'a'.repeat(40)}`

/** Every `$ref` below a value. */
function refs(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key === '$ref' ? [String(inner)] : refs(inner)))
}

function refusalOf(payload: unknown): string {
  try {
    decodeSimulationRequest([payload, 'latest'], DEFAULT_SIMULATION_LIMITS)
    return ''
  } catch (error) {
    if (error instanceof RpcError) return error.message
    throw error
  }
}

/** The payload with `fields` at the position of a schema. */
const WRAPPED: Record<string, (fields: object) => unknown> = {
  SimulationPayload: (fields) => fields,
  BlockStateCall: (fields) => ({ blockStateCalls: [fields] }),
  BlockOverrides: (blockOverrides) => ({ blockStateCalls: [{ blockOverrides }] }),
  AccountOverride: (fields) => ({ blockStateCalls: [{ stateOverrides: { [A]: fields } }] }),
  Call: (fields) => ({ blockStateCalls: [{ calls: [fields] }] }),
  Withdrawal: (fields) => ({ blockStateCalls: [{ blockOverrides: { withdrawals: [fields] } }] }),
  AccessListEntry: (fields) => ({ blockStateCalls: [{ calls: [{ accessList: [fields] }] }] }),
  Authorization: (fields) => ({ blockStateCalls: [{ calls: [{ authorizationList: [fields] }] }] }),
}

describe('openRpcDocument', () => {
  it('lists every served method once, and no other', () => {
    const names = document.methods.map(({ name }) => name)
    expect(names[0]).toBe('eth_simulateV1')
    expect([...names].sort()).toEqual([...served].sort())
    expect(document.info.version).toBe('1.2.3')
  })

  it('refers only to schemas that exist', () => {
    for (const reference of refs(document)) {
      expect(SCHEMAS).toHaveProperty([reference.replace('#/components/schemas/', '')])
    }
  })

  it('contains an example request that the decoder accepts', () => {
    const example = document.methods[0]?.examples?.[0]
    expect(example?.params).toHaveLength(2)
    const params = example?.params.map(({ value }) => value)
    expect(decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS).blockStateCalls).toHaveLength(1)
  })

  it.each(Object.keys(WRAPPED))('lists exactly the fields of %s that the decoder accepts', (name) => {
    const wrap = WRAPPED[name]
    const properties = SCHEMAS[name]?.properties
    if (wrap === undefined || properties === undefined) throw new Error('no such schema')
    for (const field of Object.keys(properties)) {
      expect(refusalOf(wrap({ [field]: null }))).not.toContain('unknown field')
    }
    const refusal = refusalOf(wrap({ qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq: 1 }))
    const known = /known fields: (.*)$/.exec(refusal)?.[1]
    if (known !== undefined) expect(known.split(', ').sort()).toEqual(Object.keys(properties).sort())
    const mattering = Object.keys(properties).filter((field) => field !== 'type')
    for (const field of mattering) expect(refusalOf(wrap({ [`${field}x`]: 1 }))).toContain(`did you mean \`${field}\``)
  })
})
