import { findGeth, type Geth, startGeth } from '@upfront/devnet'
import { numberToHex } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, type RpcReply, startGateway } from './gateway-process.js'

const path = findGeth()
if (!path) console.log('what geth takes and refuses is not compared: there is no geth in $GETH, PATH or ~/go/bin')
const describeIf = path ? describe : describe.skip

const A = `0x${'a'.repeat(40)}`
const CODE = '0x00000000000000000000000000000000000c0de7'
const word = (n: number) => numberToHex(n, { size: 32 })

describeIf('eth_simulateV1 compared with a real geth', () => {
  let geth: Geth
  let gateways: GatewayProcess[]

  beforeAll(async () => {
    geth = await startGeth(path as string, { blockTimeSeconds: 1 })
    gateways = await Promise.all(
      ['auto', 'portable'].map((engine) =>
        startGateway({ UPSTREAM_RPC_URL: geth.rpcUrl, DIALECT: 'ethereum', EVM_ENGINE: engine }),
      ),
    )
  })
  afterAll(async () => {
    await Promise.all((gateways ?? []).map((gateway) => gateway.stop()))
    await geth?.stop()
  })

  async function askGeth(method: string, params: unknown): Promise<RpcReply<Block[]>> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(geth.rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()) as RpcReply<Block[]>
  }

  interface Block {
    calls: { returnData: string; status: string }[]
  }

  /** Blocks keep coming, so only results that do not depend on the head are compared. */
  async function agreeOnResult(params: unknown[]): Promise<void> {
    const theirs = await askGeth('eth_simulateV1', params)
    expect(theirs.error).toBeUndefined()
    for (const gateway of gateways) {
      const ours = await gateway.call<Block[]>('eth_simulateV1', params)
      expect(ours.error).toBeUndefined()
      expect(ours.result?.map(({ calls }) => calls)).toMatchObject(
        theirs.result?.map(({ calls }) => calls.map(({ returnData, status }) => ({ returnData, status }))) ?? [],
      )
    }
  }

  /** @param words expected in our message if geth's does not show which fault it names */
  async function agreeOnFault(params: unknown[], words?: RegExp): Promise<void> {
    const theirs = await askGeth('eth_simulateV1', params)
    expect(theirs.error).toBeDefined()
    const { code = 0, message = '' } = theirs.error ?? {}
    for (const gateway of gateways) {
      const ours = await gateway.call('eth_simulateV1', params)
      expect(ours.error?.code).toBe(code)
      expect(ours.error?.message).toMatch(words ?? new RegExp(escaped(message)))
    }
  }

  /** Without figures that depend on gas prices and heads. */
  const escaped = (message: string) => message.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/\d{5,}/g, '\\d+')

  const returnsInput = assemble('0 CALLDATALOAD 0 MSTORE 32 0 RETURN')
  const echoing = (call: object, more: object = {}) => ({
    blockStateCalls: [{ stateOverrides: { [CODE]: { code: returnsInput } }, calls: [{ to: CODE, ...call }] }],
    ...more,
  })

  describe('accepts what geth accepts', () => {
    it.each<[string, unknown[]]>([
      ['no block', [echoing({ input: '0x01' })]],
      ['null for the block', [echoing({ input: '0x01' }), null]],
      ['data and input that differ', [echoing({ data: '0x01', input: '0x02' }), 'latest']],
      ['an empty input beside data', [echoing({ data: '0x01', input: '0x' }), 'latest']],
      ['fields that it ignores', [echoing({ foo: 1, type: '0x7f', hash: A }, { foo: { from: 1 } }), 'latest']],
      ['null in overrides and calls', [{ blockStateCalls: [{ calls: null, blockOverrides: null }] }, 'latest']],
    ])('%s', (_, params) => agreeOnResult(params))
  })

  it('rejects a misspelt field that geth would ignore', async () => {
    for (const gateway of gateways) {
      const { error } = await gateway.call('eth_simulateV1', [{ blockStateCalls: [{ stateOverides: {} }] }, 'latest'])
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('did you mean `stateOverrides`?') })
    }
  })

  const tooLittleGas = { to: A, gas: '0x1' }
  const wrongChain = { to: A, chainId: '0x1234567' }
  const twoPrices = { to: A, gasPrice: '0x1', maxFeePerGas: '0x1' }
  const hugeGas = { gas: '0xffffffffffff' }
  const twoStorages = { [A]: { state: { [word(1)]: word(1) }, stateDiff: { [word(1)]: word(1) } } }
  const notPrecompile = { [A]: { movePrecompileToAddress: CODE } }
  const first = { number: '0x1' }
  const many = Array(257).fill({})

  describe('reports the fault that geth reports first', () => {
    it.each<[string, unknown, unknown?, RegExp?]>([
      ['a call that is none after one that fails', { blockStateCalls: [{ calls: [tooLittleGas, wrongChain] }] }],
      ['a call that fails after one that is none', { blockStateCalls: [{ calls: [wrongChain, tooLittleGas] }] }],
      ['the same in blocks', { blockStateCalls: [{ calls: [tooLittleGas] }, { calls: [twoPrices] }] }],
      ['the same in blocks, swapped', { blockStateCalls: [{ calls: [twoPrices] }, { calls: [tooLittleGas] }] }],
      ['after calls that succeed', { blockStateCalls: [{ calls: [{ to: A }] }, { calls: [{ to: A }, wrongChain] }] }],
      ['gas before the contradiction', { blockStateCalls: [{ calls: [{ ...wrongChain, ...hugeGas }] }] }],
      ['two contradictions', { blockStateCalls: [{ calls: [{ ...wrongChain, ...twoPrices }] }] }],
      [
        'a failing call before overrides',
        { blockStateCalls: [{ calls: [tooLittleGas] }, { stateOverrides: twoStorages }] },
        'latest',
        /intrinsic gas/,
      ],
      [
        'overrides before a failing call',
        { blockStateCalls: [{ stateOverrides: twoStorages, calls: [tooLittleGas] }] },
        'latest',
        /stateDiff/,
      ],
      [
        'overrides that move no precompile',
        { blockStateCalls: [{ stateOverrides: notPrecompile, calls: [wrongChain] }] },
      ],
      [
        'order of blocks before calls',
        { blockStateCalls: [{ calls: [wrongChain] }, { blockOverrides: first }] },
        'latest',
        /must be in order/,
      ],
      [
        'number before time',
        { blockStateCalls: [{ blockOverrides: { ...first, time: '0x1' } }] },
        'latest',
        /numbers must/,
      ],
      [
        'time of one before number of the next',
        { blockStateCalls: [{ blockOverrides: { time: '0x1' } }, { blockOverrides: first }] },
        'latest',
        /timestamps must/,
      ],
      ['nothing before an unknown block', { blockStateCalls: [] }, '0xffffffff', /empty input/],
      ['too many before an unknown block', { blockStateCalls: many }, '0xffffffff', /too many blocks/],
      [
        'an unknown block before the order',
        { blockStateCalls: [{ blockOverrides: first }, { blockOverrides: first }] },
        '0xffffffff',
        /not found/,
      ],
      ['a malformed block before nothing', { blockStateCalls: [] }, 'nonsense', /params\[1\]/],
      [
        'a malformed call before too many',
        { blockStateCalls: [...many, { calls: [{ gas: '1' }] }] },
        'latest',
        /calls\[0\]\.gas/,
      ],
    ])('%s', (_, payload, block = 'latest', words = undefined) => agreeOnFault([payload, block], words))

    const faults: Record<string, object> = {
      'a low nonce': { nonce: '0x0' },
      'a high nonce': { nonce: '0xffff' },
      'a fee below the base fee': { maxFeePerGas: '0x1' },
      'a tip above the fee': { maxFeePerGas: numberToHex(10n ** 10n), maxPriorityFeePerGas: numberToHex(10n ** 11n) },
      'no funds': { value: numberToHex(10n ** 70n) },
      'little gas': { gas: '0x100' },
      'too much gas': { gas: '0xffffffffffff' },
      'too much init code': { to: undefined, input: `0x${'00'.repeat(49_153)}` },
      'blobs without hashes': { blobVersionedHashes: [] },
      'a blob of another version': { blobVersionedHashes: [word(1)] },
    }
    const names = Object.keys(faults)
    const pairs = names.flatMap((one, at) => names.slice(at + 1).map((other) => [one, other] as const))
    it.each(pairs)('%s and %s, with validation', async (one, other) => {
      const sender = { balance: numberToHex(10n ** 30n), nonce: '0x5' }
      const call = { from: CODE, to: A, maxFeePerGas: numberToHex(10n ** 12n), ...faults[one], ...faults[other] }
      const blockStateCalls = [{ stateOverrides: { [CODE]: sender }, calls: [call] }]
      await agreeOnFault([{ blockStateCalls, validation: true }, 'latest'])
    })
  })
})
