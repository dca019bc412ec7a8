import type { ClientEvmSigner } from '@x402/evm'
import { type Chain, createWalletClient, custom, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { accountOf, type Wallet } from '../wallet.js'

/** The local chain of `npm start`, and its buyer, whose key is public. */
export const LOCAL_CHAIN = 31_337
const LOCAL_BUYER: Hex = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

/** Signs with the local chain's test key. */
export function testPayer(): ClientEvmSigner {
  return privateKeyToAccount(LOCAL_BUYER)
}

/** Signs with a wallet, on the payment's chain. @throws Error if the wallet refuses */
export async function walletPayer(wallet: Wallet, chainId: number): Promise<ClientEvmSigner> {
  const account = await accountOf(wallet)
  const { provider } = wallet
  await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: `0x${chainId.toString(16)}` }] })
  const client = createWalletClient({ account, transport: custom(provider), chain: { id: chainId } as Chain })
  return { address: account, signTypedData: (message) => client.signTypedData(message as never) }
}
