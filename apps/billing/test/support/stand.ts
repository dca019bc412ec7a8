import { type Devnet, type FaultProxy, startDevnet, startFaultProxy, USDC_ADDRESS, usdcAbi } from '@upfront/devnet'
import type { Payment, PaymentState } from '@upfront/protocol'
import { createPublicClient, createTestClient, http, type TestClient } from 'viem'
import { type BillingClient, runBilling } from './billing.js'
import type { Store } from './stores.js'
import { until } from './until.js'

export type RunningBilling = BillingClient & { close(): Promise<void> }

/** A payment as `GET /payments/:id` shows it. */
interface PaymentDescription {
  payment: { state: string; blockNumber: string | null }
  events: { kind: string }[]
  transactions: { hash: string; status: string; item: number; items: number }[]
  waitsFor: string | null
}

export interface Stand {
  devnet: Devnet
  /** Billing's node: a proxy before the chain. */
  node: FaultProxy
  billing: RunningBilling
  /** Environment variables that select billing's ledger. */
  variables: Record<string, string>
  /** Closes billing and starts it with these settings, on a new ledger unless they name one. */
  run(settings?: NodeJS.ProcessEnv): Promise<void>
  anvil(): TestClient
  mineOne(): Promise<void>
  describePayment(id: string): Promise<PaymentDescription>
  /** The kinds of a payment's events, in order. */
  eventKinds(id: string): Promise<string[]>
  /** Polls until the payment is in this state. `between` runs between two reads. */
  untilState(id: string, state: PaymentState, between?: () => Promise<unknown>): Promise<Payment>
}

export interface StandOptions {
  /** Settings of billing; `null`: the tests start it themselves, by `run`. */
  settings?: NodeJS.ProcessEnv | null
  /** A chain for each test. Default: one for all. */
  perTest?: boolean
  /** Uses the ledger of these variables before billing opens it: PGlite can be open only once. */
  prepare?: (variables: Record<string, string>) => Promise<void>
}

/** Starts a chain and a billing on the store for the tests of the calling `describe`. The fields are set once the tests run. */
export function useStand(store: Store, { settings = {}, perTest = false, prepare }: StandOptions = {}): Stand {
  const stand = {
    async run(given: NodeJS.ProcessEnv = {}) {
      await stand.billing?.close()
      stand.billing = await runBilling(stand.node.url, { ...(await store.variables()), ...given })
    },
    anvil: () => createTestClient({ mode: 'anvil', transport: http(stand.devnet.rpcUrl) }),
    mineOne: () => stand.anvil().mine({ blocks: 1 }),
    describePayment: async (id) => (await stand.billing.send(`/payments/${id}`)).body as PaymentDescription,
    eventKinds: async (id) => (await stand.describePayment(id)).events.map(({ kind }) => kind),
    untilState: (id, state, between) =>
      until(
        () => stand.billing.payment(id),
        (payment) => payment.state === state,
        between,
      ),
  } as Stand
  const start = async () => {
    if (store.missing !== null) return
    stand.devnet = await startDevnet()
    stand.node = await startFaultProxy(stand.devnet.rpcUrl)
    if (settings === null) return
    stand.variables = await store.variables()
    await prepare?.(stand.variables)
    await stand.run({ ...stand.variables, ...settings })
  }
  const stop = async () => {
    await stand.billing?.close()
    await stand.node?.stop()
    await stand.devnet?.stop()
  }
  beforeAll(async () => {
    if (store.missing !== null) return console.warn(`skipped: ${store.missing}`)
    await store.start()
    if (!perTest) await start()
  })
  if (perTest) {
    beforeEach(start)
    afterEach(stop)
  }
  afterAll(async () => {
    if (!perTest) await stop()
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
