import { type Hex, parseTransaction, serializeTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { type GenesisUpstream, startGenesisUpstream } from './genesis-upstream.js'

// Signed transactions instead of calls, and authorizations without a signature.

const account = privateKeyToAccount(`0x${'51'.repeat(32)}`)
const sender = account.address.toLowerCase() as Hex
const TO = `0xb0${'0'.repeat(37)}1` as const
const DELEGATE = `0xde${'0'.repeat(37)}1` as const
const AUTHORITY = `0xa0${'0'.repeat(37)}7` as const
const chainId = 7357

let upstream: GenesisUpstream
const gateways: GatewayProcess[] = []

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  for (const EVM_ENGINE of ['auto', 'portable'])
    gateways.push(await startGateway({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'ethereum', EVM_ENGINE }))
})

afterAll(async () => {
  for (const gateway of gateways) await gateway.stop()
  upstream?.close()
})

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
type Answer = { result?: any; error?: { code: number; message: string } }

/** The answer of both builds of the engine, which must be equal. */
async function simulate(calls: unknown[], payload: object = {}, stateOverrides: object = {}): Promise<Answer> {
  const params = [{ blockStateCalls: [{ stateOverrides, calls }], ...payload }, 'latest']
  const answers: Answer[] = []
  for (const gateway of gateways) answers.push((await gateway.call('upfront_simulate', params)) as Answer)
  expect(answers[1]).toEqual(answers[0])
  return answers[0]!
}

const base = { chainId, to: TO, nonce: 3, gas: 50_000n, value: 5n }
const fees = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n }
const rich = { [sender]: { balance: '0xde0b6b3a7640000', nonce: '0x3' } }
const shown = { returnFullTransactions: true, traceTransfers: true, stateDiff: true }

describe('a signed transaction instead of a call', () => {
  it.each([
    ['legacy', { ...base, type: 'legacy', gasPrice: 2_000_000_000n }],
    [
      'eip2930',
      {
        ...base,
        type: 'eip2930',
        gasPrice: 2_000_000_000n,
        accessList: [{ address: TO, storageKeys: [`0x${'0'.repeat(64)}`] }],
      },
    ],
    ['eip1559', { ...base, type: 'eip1559', ...fees, data: '0x1234' }],
    ['eip7702', { ...base, type: 'eip7702', ...fees }],
  ] as const)('of type %s is run with all signed fields', async (type, fields) => {
    const authorizationList = [await account.signAuthorization({ chainId, contractAddress: DELEGATE, nonce: 4 })]
    const unsigned = type === 'eip7702' ? { ...fields, authorizationList } : fields
    const raw = await account.signTransaction(unsigned as never)
    const { result, error } = await simulate([raw], { ...shown, validation: true }, rich)
    expect(error).toBeUndefined()
    const [{ calls, transactions }] = result
    expect(calls[0].status).toBe('0x1')
    expect(transactions[0]).toMatchObject({ from: sender, to: TO, nonce: '0x3', gas: '0xc350', value: '0x5' })
    expect(calls[0].stateDiff[sender].nonce).toEqual({ from: '0x3', to: type === 'eip7702' ? '0x5' : '0x4' })
    if (type === 'eip7702') expect(calls[0].stateDiff[sender].code.to).toBe(`0xef0100${DELEGATE.slice(2)}`)
  })

  it('may stand among calls, and its nonce counts', async () => {
    const raw = await account.signTransaction({ ...base, ...fees, type: 'eip1559' })
    const { error } = await simulate([{ to: TO }, raw, raw], { validation: false }, rich)
    expect(error).toBeUndefined()
    const late = await simulate([raw, raw], { validation: true }, rich)
    expect(late.error).toMatchObject({ code: -38010, message: expect.stringContaining('calls[1]: ') })
  })

  it('is rejected by name if it is of another chain, unsigned or malformed', async () => {
    const elsewhere = await account.signTransaction({ ...base, ...fees, type: 'eip1559', chainId: 1 })
    const unsigned = serializeTransaction({ ...base, ...fees, type: 'eip1559' })
    const raw = await account.signTransaction({ ...base, ...fees, type: 'eip1559' })
    const forged = serializeTransaction(
      parseTransaction(raw) as never,
      { r: `0x${'f'.repeat(64)}`, s: '0x1', yParity: 0 } as never,
    )
    for (const [given, problem] of [
      [elsewhere, 'is signed for chain 1, this is chain 7357'],
      [unsigned, 'it has no signature'],
      [forged, 'its signature is not valid'],
      ['0x02f86c01', 'the bytes are not one'],
      [`${raw}00`, 'the bytes are not'],
      ['0x', 'the bytes are not one'],
      ['0xzz', 'expected bytes in hex'],
    ] as const) {
      const { error } = await simulate([{ to: TO }, given])
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('blockStateCalls[0].calls[1]: ') })
      expect(error?.message).toContain(problem)
    }
  })
})

describe('an authorization without a signature', () => {
  // Sends its balance to the caller.
  const code = assemble('0 0 0 0 ADDRESS BALANCE CALLER GAS CALL STOP')
  const state = { [DELEGATE]: { code }, [AUTHORITY]: { balance: '0x64' } }
  const authorization = { chainId: '0x1cbd', address: DELEGATE, nonce: '0x0', authority: AUTHORITY }
  const call = { from: sender, to: AUTHORITY, authorizationList: [authorization] }
  const all = { stateDiff: true, assetChanges: true, trace: true, accessLists: true }

  it('shows what the delegation would do', async () => {
    const { result, error } = await simulate([call], all, state)
    expect(error).toBeUndefined()
    const [{ status, stateDiff, assetChanges }] = result[0].calls
    expect(status).toBe('0x1')
    expect(stateDiff[AUTHORITY]).toMatchObject({
      balance: { from: '0x64', to: '0x0' },
      nonce: { from: '0x0', to: '0x1' },
      code: { from: '0x', to: `0xef0100${DELEGATE.slice(2)}` },
    })
    expect(assetChanges.transfers).toMatchObject([{ type: 'native', from: AUTHORITY, to: sender, amount: '0x64' }])
  })

  it('takes as much gas as a signed one, and like it needs the right chain and nonce', async () => {
    const own = { ...state, [sender]: { balance: '0x64' } }
    const signed = await account.signAuthorization({ chainId, contractAddress: DELEGATE, nonce: 0 })
    const hex = (value: number | bigint) => `0x${value.toString(16)}`
    const list = [
      {
        chainId: hex(chainId),
        address: DELEGATE,
        nonce: '0x0',
        yParity: hex(signed.yParity!),
        r: hex(BigInt(signed.r)),
        s: hex(BigInt(signed.s)),
      },
    ]
    const to = { from: TO, to: sender }
    const bySignature = await simulate([{ ...to, authorizationList: list }], { stateDiff: true }, own)
    const byName = await simulate(
      [{ ...to, authorizationList: [{ ...authorization, authority: sender }] }],
      { stateDiff: true },
      own,
    )
    expect(byName.result[0].calls[0].gasUsed).toBe(bySignature.result[0].calls[0].gasUsed)
    expect(byName.result[0].calls[0].stateDiff).toEqual(bySignature.result[0].calls[0].stateDiff)
    for (const other of [{ nonce: '0x1' }, { chainId: '0x1' }]) {
      const { result } = await simulate([{ ...call, authorizationList: [{ ...authorization, ...other }] }], all, state)
      expect(result[0].calls[0].stateDiff[AUTHORITY]).toBeUndefined()
    }
  })

  it('is rejected with both a signature and an authority, or neither', async () => {
    for (const [fields, problem] of [
      [{ ...authorization, r: '0x1' }, '`authority` replaces the signature and cannot be combined with `r`'],
      [{ ...authorization, authority: '0x1' }, 'authority: expected an address'],
      [{ ...authorization, authority: undefined }, 'yParity: expected a hex quantity'],
    ] as const) {
      const { error } = await simulate([{ ...call, authorizationList: [fields] }])
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(problem) })
    }
  })
})
