import { useSyncExternalStore } from 'react'
import type { EIP1193Provider } from 'viem'

declare global {
  interface Window {
    ethereum?: EIP1193Provider
  }
}

/** A wallet in the browser, as announced by EIP-6963. */
export interface Wallet {
  id: string
  name: string
  provider: EIP1193Provider
}

let wallets: readonly Wallet[] =
  window.ethereum === undefined
    ? []
    : [{ id: 'window.ethereum', name: 'the browser’s wallet', provider: window.ethereum }]
const listeners = new Set<() => void>()

window.addEventListener('eip6963:announceProvider', (event) => {
  const { info, provider } = (event as CustomEvent<{ info: { uuid: string; name: string }; provider: EIP1193Provider }>)
    .detail
  // An announced wallet has a name, and usually is the one at `window.ethereum`.
  wallets = [
    ...wallets.filter(({ id }) => id !== info.uuid && id !== 'window.ethereum'),
    { id: info.uuid, name: info.name, provider },
  ]
  for (const listener of listeners) listener()
})
window.dispatchEvent(new Event('eip6963:requestProvider'))

/** The wallets of this browser. */
export function useWallets(): readonly Wallet[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => wallets,
  )
}

/** @throws Error if the wallet refuses */
export async function accountOf({ provider }: Wallet): Promise<`0x${string}`> {
  const [account] = await provider.request({ method: 'eth_requestAccounts' })
  if (account === undefined) throw new Error('the wallet shared no account')
  return account
}
