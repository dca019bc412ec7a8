/** A payment as billing returns it: amounts in the token's smallest unit, decimal; times in ISO 8601. */
export interface LedgerPayment {
  id: string
  state: string
  route: string
  payer: string
  network: string
  asset: string
  maximum: string
  charge: string | null
  reason: string | null
  createdAt: string
  [field: string]: unknown
}

export interface PaymentHistory {
  payment: LedgerPayment
  events: {
    id: string
    at: string
    kind: string
    fromState: string | null
    toState: string
    reason: string | null
    data: object
  }[]
  transactions: { hash: string; signer: string; nonce: number; status: string; signedAt: string }[]
  waitsFor: string | null
}

/** A route's totals of a day. `feePaid` in wei. */
export interface Total {
  day: string
  route: string
  network: string
  asset: string
  payments: number
  settled: string
  pending: string
  failed: string
  feePaid: string
}

export interface Reconciliation {
  settledPayments: number
  openPayments: number
  differences: {
    kind: string
    paymentId: string | null
    transaction: string | null
    ledgerAmount: string | null
    chainAmount: string | null
  }[]
}

/** States that still need work; shown first. */
export const STUCK_STATES = ['charging', 'submitted', 'authorized']
const MAX_SHOWN = 50

/** The seller's ledger at billing, through the gateway. Keeps the token only while the page is open. */
export class Ledger {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  async totals(): Promise<Total[]> {
    return (await this.#get<{ totals: Total[] }>('payments/totals')).totals
  }

  /** Open payments, oldest first; then failed ones; then the newest of the rest. */
  async payments(): Promise<LedgerPayment[]> {
    const list = async (states: string) =>
      (await this.#get<{ payments: LedgerPayment[] }>(`payments?state=${states}&limit=${MAX_SHOWN}`)).payments
    const [stuck, failed, rest] = await Promise.all([
      list(STUCK_STATES.join(',')),
      list('failed'),
      list('settled,zero,released,expired'),
    ])
    return [...stuck.toReversed(), ...failed, ...rest].slice(0, 2 * MAX_SHOWN)
  }

  history(id: string): Promise<PaymentHistory> {
    return this.#get(`payments/${encodeURIComponent(id)}`)
  }

  reconciliation(): Promise<Reconciliation> {
    return this.#get('reconciliation')
  }

  async #get<T>(path: string): Promise<T> {
    const response = await fetch(`/v1/seller/${path}`, { headers: { authorization: `Bearer ${this.#token}` } })
    if (response.status === 401) throw new Error('billing does not know this token')
    const body = (await response.json().catch(() => ({}))) as T & { error?: { message?: string } }
    if (response.ok) return body
    throw new Error(body.error?.message ?? `billing answered ${response.status}`)
  }
}
