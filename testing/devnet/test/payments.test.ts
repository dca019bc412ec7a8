import {
  type Address,
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  keccak256,
  parseAbi,
  parseSignature,
  toHex,
  zeroAddress,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  BUYER_BALANCE,
  DEVNET_ROLES,
  type Devnet,
  PERMIT2_ADDRESS,
  permit2DomainSeparator,
  startDevnet,
  UPTO_PERMIT2_PROXY_ADDRESS,
  USDC_ADDRESS,
  usdcAbi,
} from '../src/index.js'

const proxyAbi = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'struct EIP2612Permit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
  'function PERMIT2() view returns (address)',
  'function WITNESS_TYPEHASH() view returns (bytes32)',
  'function settle(PermitTransferFrom permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(EIP2612Permit permit2612, PermitTransferFrom permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'error AmountExceedsPermitted()',
  'error InvalidDestination()',
  'error InvalidOwner()',
  'error PaymentTooEarly()',
  'error Permit2612AmountMismatch()',
  'error UnauthorizedFacilitator()',
  'error InvalidNonce()',
])
const witnessTypes = {
  PermitWitnessTransferFrom: [
    { name: 'permitted', type: 'TokenPermissions' },
    { name: 'spender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
    { name: 'witness', type: 'Witness' },
  ],
  TokenPermissions: [
    { name: 'token', type: 'address' },
    { name: 'amount', type: 'uint256' },
  ],
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'facilitator', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
} as const

const maximum = 100_000n
const deadline = 4_000_000_000n
const payTo = DEVNET_ROLES.seller.address
const facilitator = privateKeyToAccount(DEVNET_ROLES.facilitators[0].privateKey)
const stranger = privateKeyToAccount(DEVNET_ROLES.facilitators[1].privateKey)

let devnet: Devnet
let nextNonce = 0n

beforeAll(async () => {
  devnet = await startDevnet()
})
afterAll(() => devnet?.stop())

const client = () => createPublicClient({ transport: http(devnet.rpcUrl), pollingInterval: 20 })
const balanceOf = (account: Address) =>
  client().readContract({ address: USDC_ADDRESS, abi: usdcAbi, functionName: 'balanceOf', args: [account] })

async function authorize(buyerKey: Hex, changes: { to?: Address; validAfter?: bigint } = {}) {
  const buyer = privateKeyToAccount(buyerKey)
  const permit = { permitted: { token: USDC_ADDRESS as Address, amount: maximum }, nonce: nextNonce++, deadline }
  const witness = { to: changes.to ?? payTo, facilitator: facilitator.address, validAfter: changes.validAfter ?? 0n }
  const signature = await buyer.signTypedData({
    domain: { name: 'Permit2', chainId: devnet.chainId, verifyingContract: PERMIT2_ADDRESS },
    types: witnessTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: { ...permit, spender: UPTO_PERMIT2_PROXY_ADDRESS, witness },
  })
  return { owner: buyer.address as Address, permit, witness, signature }
}
type Authorization = Awaited<ReturnType<typeof authorize>>

async function settle({ permit, owner, witness, signature }: Authorization, amount: bigint, account = facilitator) {
  const { request } = await client().simulateContract({
    account,
    address: UPTO_PERMIT2_PROXY_ADDRESS,
    abi: proxyAbi,
    functionName: 'settle',
    args: [permit, amount, owner, witness, signature],
  })
  const hash = await createWalletClient({ account, transport: http(devnet.rpcUrl) }).writeContract({
    ...request,
    chain: null,
  })
  return client().waitForTransactionReceipt({ hash })
}

test('Permit2 returns the domain separator of its canonical address on this chain', async () => {
  const separator = await client().readContract({
    address: PERMIT2_ADDRESS,
    abi: usdcAbi,
    functionName: 'DOMAIN_SEPARATOR',
  })
  expect(separator).toBe(permit2DomainSeparator(31337))
})

test('the upto proxy returns Permit2’s address and the witness type hash that buyers sign', async () => {
  const read = (functionName: 'PERMIT2' | 'WITNESS_TYPEHASH') =>
    client().readContract({ address: UPTO_PERMIT2_PROXY_ADDRESS, abi: proxyAbi, functionName })
  expect(await read('PERMIT2')).toBe(PERMIT2_ADDRESS)
  expect(await read('WITNESS_TYPEHASH')).toBe(
    keccak256(toHex('Witness(address to,address facilitator,uint256 validAfter)')),
  )
})

test('a buyer who approved Permit2 starts with a million USDC', async () => {
  expect(await balanceOf(DEVNET_ROLES.buyer.address)).toBe(BUYER_BALANCE)
  const allowance = (owner: Address) =>
    client().readContract({
      address: USDC_ADDRESS,
      abi: usdcAbi,
      functionName: 'allowance',
      args: [owner, PERMIT2_ADDRESS],
    })
  expect(await allowance(DEVNET_ROLES.buyer.address)).toBeGreaterThan(BUYER_BALANCE)
  expect(await allowance(DEVNET_ROLES.unapprovedBuyer.address)).toBe(0n)
})

test('the named facilitator settles less than the maximum, once only', async () => {
  const before = await balanceOf(payTo)
  const authorization = await authorize(DEVNET_ROLES.buyer.privateKey)
  const receipt = await settle(authorization, 30_000n)
  expect(receipt.status).toBe('success')
  expect(await balanceOf(payTo)).toBe(before + 30_000n)
  await expect(settle(authorization, 30_000n)).rejects.toThrow('InvalidNonce')
})

test.each([
  ['AmountExceedsPermitted', {}, maximum + 1n, facilitator],
  ['UnauthorizedFacilitator', {}, maximum, stranger],
  ['PaymentTooEarly', { validAfter: deadline - 1n }, maximum, facilitator],
  ['InvalidDestination', { to: zeroAddress }, maximum, facilitator],
] as const)('a settlement reverts with %s', async (error, changes, amount, account) => {
  await expect(settle(await authorize(DEVNET_ROLES.buyer.privateKey, changes), amount, account)).rejects.toThrow(error)
})

test('a buyer who never approved Permit2 pays with an EIP-2612 permit', async () => {
  const buyer = privateKeyToAccount(DEVNET_ROLES.unapprovedBuyer.privateKey)
  const { permit, owner, witness, signature } = await authorize(DEVNET_ROLES.unapprovedBuyer.privateKey)
  const typedPermit = {
    domain: { name: 'USDC', version: '2', chainId: devnet.chainId, verifyingContract: USDC_ADDRESS as Address },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primaryType: 'Permit',
    message: { owner, spender: PERMIT2_ADDRESS, value: maximum, nonce: 0n, deadline },
  } as const
  const { r, s, v } = parseSignature(await buyer.signTypedData(typedPermit))
  const before = await balanceOf(payTo)
  const { request } = await client().simulateContract({
    account: facilitator,
    address: UPTO_PERMIT2_PROXY_ADDRESS,
    abi: proxyAbi,
    functionName: 'settleWithPermit',
    args: [{ value: maximum, deadline, r, s, v: Number(v) }, permit, maximum, owner, witness, signature],
  })
  const wallet = createWalletClient({ account: facilitator, transport: http(devnet.rpcUrl) })
  const hash = await wallet.writeContract({ ...request, chain: null })
  expect((await client().waitForTransactionReceipt({ hash })).status).toBe('success')
  expect(await balanceOf(payTo)).toBe(before + maximum)
})
