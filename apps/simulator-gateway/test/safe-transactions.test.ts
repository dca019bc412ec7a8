import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { encodeFunctionData, erc20Abi, type Hex, parseAbi, parseEther, parseEventLogs, toHex, zeroAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { type ChainStand, startChain } from './user-operation-stand.js'

// Transactions of Safes as their package builds them, held against what the chain makes of the same once its owners have signed.

const FRIEND = `0xf0${'0'.repeat(37)}1` as const
const LIBRARY = `0x11${'0'.repeat(37)}1` as const
const GUARD = `0x99${'0'.repeat(37)}1` as const
const GUARD_SLOT = '0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8'
const SAFE_ABI = parseAbi([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool)',
  'event ExecutionSuccess(bytes32 indexed txHash, uint256 payment)',
])
const PROXY_ABI = parseAbi([
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address)',
  'event ProxyCreation(address indexed proxy, address singleton)',
])
const owners = [1n, 2n, 3n]
  .map((key) => privateKeyToAccount(toHex(key, { size: 32 })))
  .sort((one, other) => (one.address.toLowerCase() < other.address.toLowerCase() ? -1 : 1))
const require = createRequire(import.meta.url)
const artifact = (path: string) =>
  JSON.parse(
    readFileSync(require.resolve(`@safe-global/safe-smart-account/build/artifacts/contracts/${path}.json`), 'utf8'),
  )

let chain: ChainStand
let gateway: GatewayProcess
let safe: Hex

beforeAll(async () => {
  chain = await startChain()
  gateway = await startGatewayProcess({ UPSTREAM_RPC_URL: chain.anvil.rpcUrl, DIALECT: 'ethereum' })
  const singleton = await chain.deploy(artifact('Safe.sol/Safe'))
  const factory = await chain.deploy(artifact('proxies/SafeProxyFactory.sol/SafeProxyFactory'))
  const addresses = owners.map(({ address }) => address)
  const nobody = zeroAddress
  const initializer = encodeFunctionData({
    ...{ abi: SAFE_ABI, functionName: 'setup', args: [addresses, 2n, nobody, '0x', nobody, nobody, 0n, nobody] },
  })
  const { logs } = await chain.mined(
    await chain.wallet.writeContract({
      ...{ address: factory, abi: PROXY_ABI, functionName: 'createProxyWithNonce', args: [singleton, initializer, 1n] },
    }),
  )
  safe = parseEventLogs({ abi: PROXY_ABI, logs })[0]!.args.proxy.toLowerCase() as Hex
  await chain.mined(await chain.wallet.sendTransaction({ to: safe, value: parseEther('2') }))
}, 60_000)

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

it('does what the chain does once the threshold is met', async () => {
  const { safeTransaction, status, assetChanges } = await simulate({ value: '5' }, { assetChanges: true })
  expect({ status, safeTransaction }).toMatchObject({
    status: '0x1',
    safeTransaction: {
      ...{ safe, status: '0x1', version: '1.5.0', nonce: '0x0', nextNonce: '0x0', threshold: '0x2', isGuarded: false },
      owners: owners.map(({ address }) => address.toLowerCase()),
    },
  })
  expect(assetChanges.transfers).toMatchObject([{ type: 'native', from: safe, to: FRIEND, amount: '0x5' }])
  const hash = safeTransaction.safeTxHash as Hex
  const signatures = await Promise.all(owners.slice(1).map((owner) => owner.sign({ hash })))
  const { logs } = await chain.mined(
    await chain.wallet.writeContract({
      ...{ address: safe, abi: SAFE_ABI, functionName: 'execTransaction' },
      args: [
        ...([FRIEND, 5n, '0x', 0, 0n, 0n, 0n, zeroAddress, zeroAddress] as const),
        `0x${signatures.map((signature) => signature.slice(2)).join('')}`,
      ],
    }),
  )
  expect(parseEventLogs({ abi: SAFE_ABI, logs })[0]).toMatchObject({
    eventName: 'ExecutionSuccess',
    args: { txHash: hash },
  })
  expect((await simulate({ value: '0x5', nonce: 1 })).safeTransaction).toMatchObject({ nonce: '0x1', nextNonce: '0x1' })
})

it('looks at one that waits behind others, and refuses a used nonce', async () => {
  const { safeTransaction } = await simulate({ nonce: '9' })
  expect(safeTransaction).toMatchObject({ status: '0x1', nonce: '0x9', nextNonce: '0x1' })
  expect(await refusal({ nonce: 0 })).toMatchObject({
    code: -32602,
    message: "blockStateCalls[0].calls[0].safeTransaction.nonce: 0 is used, the Safe's next is 1",
  })
})

it('says what of its own call failed, whether its Safe goes on or not', async () => {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [FRIEND, 1n] })
  const says = `0x${'08c379a0'}${'20'.padStart(64, '0')}${'5'.padStart(64, '0')}${'6e6f206f6b'.padEnd(64, '0')}`
  const reverts = `0x6064600c60003960646000fd${says.slice(2)}` as const
  const overrides = { [FRIEND]: { code: reverts } }
  const failed = await simulate({ data }, {}, overrides)
  expect(failed).toMatchObject({
    status: '0x0',
    safeTransaction: { status: '0x0', error: 'execution reverted: no ok' },
  })
  const goesOn = await simulate({ data, safeTxGas: '50000' }, {}, overrides)
  expect(goesOn).toMatchObject({
    status: '0x1',
    safeTransaction: { status: '0x0', error: 'execution reverted: no ok' },
  })
})

it('runs a delegate call as the Safe', async () => {
  const overrides = { [LIBRARY]: { code: assemble('7 1000 SSTORE STOP') } }
  const { stateDiff, safeTransaction } = await simulate({ to: LIBRARY, operation: 1 }, { stateDiff: true }, overrides)
  expect(safeTransaction.status).toBe('0x1')
  expect(stateDiff[safe].storage[toHex(1000n, { size: 32 })].to).toBe(toHex(7n, { size: 32 }))
})

it('asks its guard, or looks as if there were none', async () => {
  const overrides = {
    [safe]: { stateDiff: { [GUARD_SLOT]: `0x${GUARD.slice(2).padStart(64, '0')}` } },
    [GUARD]: { code: assemble('0 0 REVERT') },
  }
  const guarded = await simulate({}, {}, overrides)
  expect(guarded).toMatchObject({ status: '0x0', safeTransaction: { guard: GUARD, isGuarded: true, status: '0x0' } })
  const free = await simulate({ guard: false }, {}, overrides)
  expect(free).toMatchObject({ status: '0x1', safeTransaction: { guard: GUARD, isGuarded: false, status: '0x1' } })
})

it.each([
  [{ safe: FRIEND }, 'safeTransaction.safe: no Safe answers at this address'],
  [{ operation: 2 }, 'safeTransaction.operation: expected 0 (a call) or 1 (a delegate call), got 2'],
  [{ value: 'x' }, 'safeTransaction.value: expected a hex quantity, got "x"'],
  [{ value: '9'.repeat(78) }, 'safeTransaction.value: expected a number of at most 256 bits'],
  [{ guards: false }, 'safeTransaction: unknown field "guards"; did you mean `guard`?'],
  [{ to: undefined }, 'safeTransaction.to: expected an address'],
])('%j is refused by name', async (fields, problem) => {
  expect(await refusal(fields)).toMatchObject({ code: -32602, message: expect.stringContaining(problem) })
})
