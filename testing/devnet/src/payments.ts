import {
  type Address,
  createPublicClient,
  createTestClient,
  createWalletClient,
  type Hex,
  http,
  maxUint256,
  parseAbi,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { DEVNET_ROLES, type DevnetAccount } from './accounts.js'
import { readArtifact } from './artifact.js'
import { PERMIT2_ADDRESS, permit2Code } from './permit2.js'

/** Address of the `upto` proxy on every chain, as in @x402/evm. */
export const UPTO_PERMIT2_PROXY_ADDRESS = '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002'
/** Address of the Permit2 proxy for `exact`. */
export const EXACT_PERMIT2_PROXY_ADDRESS = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
/** The local chain's dollar token: 6 decimals, name `USDC`, version `2` (EIP-2612 and EIP-3009). Anyone can mint. */
export const USDC_ADDRESS = '0x05Dc000000000000000000000000000000000001'

/** Functions of the test USDC for tests and tools. */
export const usdcAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
  'function nonces(address owner) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

export interface PaymentContracts {
  permit2: Address
  uptoProxy: Address
  exactProxy: Address
  usdc: Address
}

export const PAYMENT_CONTRACTS: PaymentContracts = {
  permit2: PERMIT2_ADDRESS,
  uptoProxy: UPTO_PERMIT2_PROXY_ADDRESS,
  exactProxy: EXACT_PERMIT2_PROXY_ADDRESS,
  usdc: USDC_ADDRESS,
}

/** Initial balance of a buyer: one million test USDC, in its smallest unit (10⁻⁶). */
export const BUYER_BALANCE = 1_000_000_000_000n

/** Runtime code of the payment contracts by address, for `anvil_setCode` or a genesis file's `alloc`. */
export function paymentContractCodes(chainId: number): Record<Address, Hex> {
  return {
    [PERMIT2_ADDRESS]: permit2Code(chainId),
    [UPTO_PERMIT2_PROXY_ADDRESS]: readArtifact('UptoPermit2Proxy').deployedBytecode,
    [EXACT_PERMIT2_PROXY_ADDRESS]: readArtifact('ExactPermit2Proxy').deployedBytecode,
    [USDC_ADDRESS]: readArtifact('TestUsdc').deployedBytecode,
  }
}

/**
 * Deploys Permit2, the `upto` and `exact` proxies and the test USDC at their addresses, and funds the buyers. Works on any node with
 * `anvil_setCode`. If the code already exists (from genesis, or a previous call), only funds.
 * @throws Error that names the contract, if code is missing and the node can't set it
 */
export async function deployPayments(rpcUrl: string): Promise<PaymentContracts> {
  const client = createPublicClient({ transport: http(rpcUrl) })
  const test = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  const codes = paymentContractCodes(await client.getChainId())
  for (const [address, bytecode] of Object.entries(codes) as [Address, Hex][]) {
    if ((await client.getCode({ address })) === bytecode) continue
    try {
      await test.setCode({ address, bytecode })
    } catch (cause) {
      throw new Error(`the node has no code at ${address} and can't set it: put it into its genesis`, { cause })
    }
  }
  await Promise.all([
    fundBuyer(rpcUrl, DEVNET_ROLES.buyer, { approvePermit2: true }),
    fundBuyer(rpcUrl, DEVNET_ROLES.unapprovedBuyer, { approvePermit2: false }),
  ])
  return PAYMENT_CONTRACTS
}

/**
 * Mints test USDC for an account (`amount` in 10⁻⁶ USDC, default one million USDC) and approves
 * Permit2 without limit. The account pays for its own transactions.
 */
export async function fundBuyer(
  rpcUrl: string,
  buyer: DevnetAccount,
  { amount = BUYER_BALANCE, approvePermit2 = true }: { amount?: bigint; approvePermit2?: boolean } = {},
): Promise<void> {
  const client = createPublicClient({ transport: http(rpcUrl), pollingInterval: 50 })
  const wallet = createWalletClient({ account: privateKeyToAccount(buyer.privateKey), transport: http(rpcUrl) })
  const first = await client.getTransactionCount({ address: buyer.address, blockTag: 'pending' })
  const to = { chain: null, address: USDC_ADDRESS, abi: usdcAbi, gas: 100_000n } as const
  const hashes = [
    await wallet.writeContract({ ...to, functionName: 'mint', args: [buyer.address, amount], nonce: first }),
  ]
  if (approvePermit2)
    hashes.push(
      await wallet.writeContract({
        ...to,
        functionName: 'approve',
        args: [PERMIT2_ADDRESS, maxUint256],
        nonce: first + 1,
      }),
    )
  for (const hash of hashes) {
    const { status } = await client.waitForTransactionReceipt({ hash })
    if (status !== 'success') throw new Error(`funding ${buyer.address} with the test USDC reverted in ${hash}`)
  }
}
