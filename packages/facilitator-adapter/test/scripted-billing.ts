import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodePayment, type Payment } from '@upfront/protocol'

export const TOKEN = 'service-token'
export const NETWORK = 'eip155:31337' as const
const ASSET = `0x${'05'.repeat(20)}` as const
const PAYER = `0x${'70'.repeat(20)}` as const
const SELLER = `0x${'99'.repeat(20)}` as const
const FACILITATOR = `0x${'fa'.repeat(20)}` as const

export interface Seen {
  method: string
  path: string
  key: string | undefined
  authorization: string | undefined
  body: Record<string, unknown>
}

/** What goes wrong with the next call, before or after its work is done. */
export type Fault = 'lose the answer' | 'reset' | 'internal error' | 'unavailable' | 'html' | 'truncated' | 'silence'

/** Implements the contract in memory, with scripted faults. The tests of examples/metered-seller use the real billing. */
export class ScriptedBilling {
  readonly seen: Seen[] = []
  readonly payments = new Map<string, Payment>()
  /** One for each of the next calls. */
  faults: Fault[] = []
  /** How a charge ends. */
  settle: (payment: Payment) => Partial<Payment> = () => ({
    state: 'settled',
    transaction: `0x${'ab'.repeat(32)}`,
    blockNumber: 1n,
  })
  readonly #answers = new Map<string, { status: number; body: unknown }>()
  #server: Server | undefined
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#serve(request, response))
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections()
    await new Promise((resolve) => this.#server?.close(resolve))
  }

  calls(name: string): Seen[] {
    return this.seen.filter(({ path }) => path.endsWith(name))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const seen: Seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      key: request.headers['idempotency-key'] as string | undefined,
      authorization: request.headers.authorization,
      body: text === '' ? {} : JSON.parse(text),
    }
    this.seen.push(seen)
    const fault = this.faults.shift()
    if (fault === 'reset') return void request.socket.destroy()
    if (fault === 'silence') return
    if (fault === 'internal error') return send(response, 500, { error: { code: 'internal', message: 'oops' } })
    if (fault === 'unavailable') {
      response.setHeader('Retry-After', '9')
      return send(response, 503, { error: { code: 'unavailable', message: 'later' } })
    }
    if (fault === 'html') return void response.end('<html>hello</html>')
    const known = seen.key === undefined ? undefined : this.#answers.get(seen.key)
    const answer = known === undefined ? this.#answer(seen) : this.#asOfNow(known)
    if (seen.key !== undefined) this.#answers.set(seen.key, answer)
    if (fault === 'lose the answer') return void request.socket.destroy()
    if (fault === 'truncated') return void response.end(JSON.stringify(answer.body).slice(0, 40))
    send(response, answer.status, answer.body)
  }

  /** A repeated call gets the first result, with the current state of the payment. */
  #asOfNow({ status, body }: { status: number; body: unknown }) {
    const { payment: first, ...rest } = body as { payment?: { id: string } }
    const payment = first === undefined ? undefined : this.payments.get(first.id)
    return { status, body: payment === undefined ? body : { ...rest, payment: encodePayment(payment) } }
  }

  #answer({ method, path, body, authorization }: Seen): { status: number; body: unknown } {
    if (path === '/supported') {
      const kinds = [{ x402Version: 2, scheme: 'upto', network: NETWORK, extra: { facilitatorAddress: FACILITATOR } }]
      return { status: 200, body: { kinds, extensions: [], signers: { 'eip155:*': [FACILITATOR] } } }
    }
    if (authorization !== `Bearer ${TOKEN}`) {
      return { status: 401, body: { error: { code: 'unauthorized', message: 'no token' } } }
    }
    if (path.startsWith('/internal/tokens/')) {
      if (!path.endsWith(ASSET))
        return { status: 404, body: { error: { code: 'not_found', message: 'no such token' } } }
      return { status: 200, body: { network: NETWORK, asset: ASSET, name: 'USDC', version: '2', decimals: 6 } }
    }
    if (method === 'POST' && path === '/internal/payments') return { status: 200, body: this.#authorize(body) }
    if (method === 'GET') {
      const found = [...this.payments.values()].find(({ nonce }) => path.endsWith(`nonce=${nonce}`))
      if (found === undefined) return { status: 404, body: { error: { code: 'not_found', message: 'none' } } }
      return { status: 200, body: { payment: encodePayment(found) } }
    }
    const [, , , id = '', verb] = path.split('/')
    const payment = this.payments.get(id)
    if (payment === undefined) return { status: 404, body: { error: { code: 'not_found', message: 'none' } } }
    if (payment.state !== 'authorized') {
      const refusal = { outcome: 'refused', reason: 'payment_not_authorized', message: 'not open' }
      return { status: 200, body: { ...refusal, payment: encodePayment(payment) } }
    }
    const charge = verb === 'charge' ? BigInt(String(body.amount)) : null
    const end =
      charge === null
        ? { state: 'released' as const }
        : charge === 0n
          ? { state: 'zero' as const }
          : this.settle(payment)
    const next: Payment = { ...payment, ...end, charge }
    this.payments.set(id, next)
    return { status: 200, body: { outcome: 'done', payment: encodePayment(next) } }
  }

  #authorize({ paymentPayload }: Record<string, unknown>): unknown {
    const signed = (paymentPayload as ReturnType<typeof payment>).payload.permit2Authorization
    const used = [...this.payments.values()].some(({ nonce }) => nonce === BigInt(signed.nonce))
    if (used) return { outcome: 'refused', reason: 'permit2_invalid_nonce', message: 'used', payer: signed.from }
    const id = `pay_${this.payments.size + 1}`
    const created: Payment = {
      ...{
        id,
        scheme: 'upto',
        state: 'authorized',
        network: NETWORK,
        asset: ASSET,
        payer: PAYER,
        payTo: SELLER,
        facilitator: FACILITATOR,
      },
      ...{
        nonce: BigInt(signed.nonce),
        maximum: 100_000n,
        charge: null,
        deadline: BigInt(signed.deadline),
        route: null,
      },
      ...{ reason: null, transaction: null, doubt: null, blockNumber: null, gasUsed: null, feePaid: null },
      ...{ createdAt: new Date(0).toISOString(), chargedAt: null, submittedAt: null, finishedAt: null },
    }
    this.payments.set(id, created)
    return { outcome: 'authorized', payment: encodePayment(created) }
  }
}

let nonces = 0

/** A payment whose signature is not checked here. */
export function payment(validSeconds = 300) {
  const requirements = {
    scheme: 'upto',
    network: NETWORK,
    amount: '100000',
    asset: ASSET,
    payTo: SELLER,
    maxTimeoutSeconds: 300,
    extra: { facilitatorAddress: FACILITATOR },
  } as const
  return {
    x402Version: 2,
    accepted: requirements,
    payload: {
      signature: `0x${'11'.repeat(65)}`,
      permit2Authorization: {
        from: PAYER,
        permitted: { token: ASSET, amount: '100000' },
        spender: `0x${'44'.repeat(20)}`,
        nonce: String(++nonces),
        deadline: String(Math.floor(Date.now() / 1000) + validSeconds),
        witness: { to: SELLER, facilitator: FACILITATOR, validAfter: '0' },
      },
    },
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.statusCode = status
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify(body))
}
