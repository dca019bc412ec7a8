import { type Devnet, startDevnet, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import { createPublicClient, http } from 'viem'
import { type BillingClient, runBilling } from './billing.js'
import type { Store } from './stores.js'

export type RunningBilling = BillingClient & { close(): Promise<void> }

export interface Stand {
  devnet: Devnet
  billing: RunningBilling
  /** Environment variables that select billing's ledger. */
  variables: Record<string, string>
}

/**
 * Starts a chain and a billing on the store for all tests of the calling `describe`. The fields are set once the tests run.
 * @param prepare uses the ledger of these variables before billing opens it: PGlite can be open only once
 */
export function useStand(store: Store, prepare?: (variables: Record<string, string>) => Promise<void>): Stand {
  const stand = {} as Stand
  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    stand.devnet = await startDevnet()
    stand.variables = await store.variables()
    await prepare?.(stand.variables)
    stand.billing = await runBilling(stand.devnet.rpcUrl, stand.variables)
  })
  afterAll(async () => {
    await stand.billing?.close()
    await stand.devnet?.stop()
    await store.stop()
  })
  return stand
}

/** Test USDC of an account, smallest unit. */
export function usdcBalance(devnet: Devnet, address: `0x${string}`): Promise<bigint> {
  return createPublicClient({ transport: http(devnet.rpcUrl) }).readContract({
    address: USDC_ADDRESS,
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [address],
  })
}
