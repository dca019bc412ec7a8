import type { ClientEvmSigner } from '@x402/evm'
import { type Address, type Chain, createWalletClient, custom, type EIP1193Provider, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

declare global {
  interface Window {
    ethereum?: EIP1193Provider
  }
}

/** Of the local chain that `npm start` runs: its buyer, whose key the whole world knows. */
const LOCAL_CHAIN = 31_337
const LOCAL_BUYER: Hex = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

export type PayerKind = 'wallet' | 'test key'

/** Who can sign a payment here. */
export function payerKinds(chainId: number): PayerKind[] {
  const kinds: PayerKind[] = []
  if (window.ethereum !== undefined) kinds.push('wallet')
  if (chainId === LOCAL_CHAIN) kinds.push('test key')
  return kinds
}

/** @throws Error where the wallet refuses */
export async function payer(kind: PayerKind, chainId: number): Promise<ClientEvmSigner> {
  if (kind === 'test key') return privateKeyToAccount(LOCAL_BUYER)
  const { ethereum } = window
  if (ethereum === undefined) throw new Error('this browser has no wallet')
  const [account] = (await ethereum.request({ method: 'eth_requestAccounts' })) as Address[]
  if (account === undefined) throw new Error('the wallet gives no account')
  await ethereum.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: `0x${chainId.toString(16)}` }] })
  const wallet = createWalletClient({ account, transport: custom(ethereum), chain: { id: chainId } as Chain })
  return { address: account, signTypedData: (message) => wallet.signTypedData(message as never) }
}
