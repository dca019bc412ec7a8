import { randomBytes } from 'node:crypto'
import { DEVNET_ROLES, type Devnet, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { createWalletClient, http } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'

/** Smallest unit: ten times the maximum of `makeRequirements`. */
const TOKENS = 1_000_000n

/** A fresh account that holds nothing but test tokens and has approved nothing. */
export async function newBuyer({ rpcUrl }: Devnet, token: `0x${string}` = USDC_ADDRESS): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
  const minter = privateKeyToAccount(DEVNET_ROLES.unapprovedBuyer.privateKey)
  await createWalletClient({ account: minter, transport: http(rpcUrl) }).writeContract({
    ...{ chain: null, address: token, abi: usdcAbi, functionName: 'mint' },
    args: [account.address, TOKENS],
  })
  return account
}
