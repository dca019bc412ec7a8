import { type Address, encodeFunctionData, erc20Abi, type Hex, type TransactionReceipt, toHex, zeroAddress } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { deploySafe, EXECUTE_ABI, SAFE_VERSIONS, safeOwners } from './safe-stand.js'
import { type ChainStand, startChain } from './user-operation-stand.js'

// Transactions of Safes from their own packages, compared with their execution on chain once the owners have signed.

const FRIEND = `0xf0${'0'.repeat(37)}1` as const
const LIBRARY = `0x11${'0'.repeat(37)}1` as const
const REVERTING = `0x12${'0'.repeat(37)}1` as const
const GUARD = `0x99${'0'.repeat(37)}1` as const
const GUARD_SLOT = '0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8'

let chain: ChainStand
let gateway: GatewayProcess
let safe: Hex

beforeAll(async () => {
  chain = await startChain()
  // Blocks are asked for as soon as they are mined: the gateway must not guess when the next one is due.
  gateway = await startGateway({ UPSTREAM_RPC_URL: chain.anvil.rpcUrl, DIALECT: 'ethereum', FOLLOW_HEAD: 'off' })
})

afterAll(async () => {
  await gateway?.stop()
  await chain?.anvil.stop()
})

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
async function simulate(safeTransaction: object, more: object = {}, stateOverrides: object = {}): Promise<any> {
  const calls = [{ safeTransaction: { safe, to: FRIEND, ...safeTransaction } }]
  const params = [{ blockStateCalls: [{ stateOverrides, calls }], decode: true, ...more }, 'latest']
  const { result, error } = await gateway.call<{ calls: unknown[] }[]>('upfront_simulate', params)
  expect(error).toBeUndefined()
  return result![0]!.calls[0]
}

async function refusal(safeTransaction: object) {
  const params = [{ blockStateCalls: [{ calls: [{ safeTransaction: { safe, to: FRIEND, ...safeTransaction } }] }] }]
  return (await gateway.call('upfront_simulate', params)).error
}

/** Sends the simulated transaction, signed by the owners who were assumed to have approved it. */
async function carryOut(hash: Hex, call: { to?: Address; value?: bigint; data?: Hex }): Promise<TransactionReceipt> {
  const { to = FRIEND, value = 0n, data = '0x' } = call
  const signatures = await Promise.all(safeOwners.slice(1).map((owner) => owner.sign({ hash })))
  const joined = `0x${signatures.map((signature) => signature.slice(2)).join('')}` as const
  const args = [to, value, data, 0, 0n, 0n, 0n, zeroAddress, zeroAddress, joined] as const
  const gas = 1_000_000n
  return chain.mined(
    await chain.wallet.writeContract({ address: safe, abi: EXECUTE_ABI, functionName: 'execTransaction', args, gas }),
  )
}

describe.each(SAFE_VERSIONS)('Safe %s', (version) => {
  beforeAll(async () => {
    safe = await deploySafe(chain, version)
  })

  it('simulates what the chain executes once the threshold is met', async () => {
    const before = await chain.node.getBalance({ address: FRIEND })
    const { safeTransaction, status, assetChanges } = await simulate({ value: '5' }, { assetChanges: true })
    expect({ status, safeTransaction }).toMatchObject({
      status: '0x1',
      safeTransaction: {
        ...{ safe, status: '0x1', version, nonce: '0x0', nextNonce: '0x0', threshold: '0x2', isGuarded: false },
        owners: safeOwners.map(({ address }) => address.toLowerCase()),
      },
    })
    expect(assetChanges.transfers).toMatchObject([{ type: 'native', from: safe, to: FRIEND, amount: '0x5' }])
    const { status: carriedOut, blockNumber } = await carryOut(safeTransaction.safeTxHash, { value: 5n })
    expect(carriedOut).toBe('success')
    expect(await chain.node.getBalance({ address: FRIEND })).toBe(before + 5n)
    const next = await simulate({ value: '0x5', nonce: 1 })
    expect(next.safeTransaction).toMatchObject({ nonce: '0x1', nextNonce: '0x1' })
    const swept = {
      blockStateCalls: [{ calls: [{ safeTransaction: { safe, to: FRIEND, value: '5' } }] }],
      positions: 'all',
    }
    const { result } = await gateway.call('upfront_simulate', [swept, toHex(blockNumber)])
    expect(result).toMatchObject(
      ['0x0', '0x1'].map((nonce) => ({ status: '0x1', safeTransaction: { status: '0x1', nonce, nextNonce: nonce } })),
    )
  })

  it('simulates a transaction with a later nonce and rejects a used nonce', async () => {
    const { safeTransaction } = await simulate({ nonce: '9' })
    expect(safeTransaction).toMatchObject({ status: '0x1', nonce: '0x9', nextNonce: '0x1' })
    expect(await refusal({ nonce: 0 })).toMatchObject({
      code: -32602,
      message: "blockStateCalls[0].calls[0].safeTransaction.nonce: 0 is used, the Safe's next is 1",
    })
  })

  it('reports the failure of its inner call, whether the Safe reverts or not', async () => {
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [FRIEND, 1n] })
    const says = `0x${'08c379a0'}${'20'.padStart(64, '0')}${'5'.padStart(64, '0')}${'6e6f206f6b'.padEnd(64, '0')}`
    const reverts = `0x6064600c60003960646000fd${says.slice(2)}` as const
    const overrides = { [REVERTING]: { code: reverts } }
    await chain.node.request({ method: 'anvil_setCode' as never, params: [REVERTING, reverts] as never })
    const own = { status: '0x0', error: 'execution reverted: no ok' }
    const failed = await simulate({ to: REVERTING, data }, {}, overrides)
    const carriedOut = await carryOut(failed.safeTransaction.safeTxHash, { to: REVERTING, data })
    // Before 1.3.0 a Safe does not revert.
    expect(failed).toMatchObject({
      status: carriedOut.status === 'success' ? '0x1' : '0x0',
      safeTransaction: own,
    })
    const goesOn = await simulate({ to: REVERTING, data, safeTxGas: '50000' }, {}, overrides)
    expect(goesOn).toMatchObject({ status: '0x1', safeTransaction: own })
  })

  it('runs a delegate call in the context of the Safe', async () => {
    const overrides = { [LIBRARY]: { code: assemble('7 1000 SSTORE STOP') } }
    const { stateDiff, safeTransaction } = await simulate({ to: LIBRARY, operation: 1 }, { stateDiff: true }, overrides)
    expect(safeTransaction.status).toBe('0x1')
    expect(stateDiff[safe].storage[toHex(1000n, { size: 32 })].to).toBe(toHex(7n, { size: 32 }))
  })

  // Guards exist since 1.3.0.
  if (version >= '1.3')
    it('runs its guard, unless guard: false leaves it out', async () => {
      const overrides = {
        [safe]: { stateDiff: { [GUARD_SLOT]: `0x${GUARD.slice(2).padStart(64, '0')}` } },
        [GUARD]: { code: assemble('0 0 REVERT') },
      }
      const guarded = await simulate({}, {}, overrides)
      expect(guarded).toMatchObject({
        status: '0x0',
        safeTransaction: { guard: GUARD, isGuarded: true, status: '0x0' },
      })
      const free = await simulate({ guard: false }, {}, overrides)
      expect(free).toMatchObject({ status: '0x1', safeTransaction: { guard: GUARD, isGuarded: false, status: '0x1' } })
    })
})

it.each([
  [{ safe: FRIEND }, 'safeTransaction.safe: there is no Safe at this address'],
  [{ operation: 2 }, 'safeTransaction.operation: expected 0 (a call) or 1 (a delegate call), got 2'],
  [{ value: 'x' }, 'safeTransaction.value: expected a hex quantity, got "x"'],
  [{ value: '9'.repeat(78) }, 'safeTransaction.value: expected a number of at most 256 bits'],
  [{ guards: false }, 'safeTransaction: unknown field "guards"; did you mean `guard`?'],
  [{ to: undefined }, 'safeTransaction.to: expected an address'],
])('rejects safeTransaction with %j and names the field', async (fields, problem) => {
  expect(await refusal(fields)).toMatchObject({ code: -32602, message: expect.stringContaining(problem) })
})
