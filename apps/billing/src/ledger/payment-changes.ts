import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Network, PaymentState } from '@upfront/protocol'
import { errorText, type Logger } from '@upfront/service'
import { Client } from 'pg'

/** The channel that the trigger `payments_notify` writes to. */
export const CHANNEL = 'payments'
const RECONNECT_MILLISECONDS = 1_000

/** How far a payment came, whichever process brought it there. */
export interface PaymentProgress {
  network: Network
  id: string
  state: PaymentState
  /** A seller need not wait for more: it is mined, or looks as if it could not be settled. */
  isKnown: boolean
}

/**
 * Emits `progress`. What happens while the connection to Postgres is lost is not heard, so listeners look from time to time
 * as well.
 */
export class PaymentChanges extends EventEmitter<{ progress: [PaymentProgress] }> {
  #client: Client | null = null
  #closed = false

  /** @param payload what `payments_notify` wrote */
  hear(payload = ''): void {
    const [network, id, state, known] = payload.split(' ')
    const progress = { network, id, state, isKnown: known !== undefined }
    this.emit('progress', progress as PaymentProgress)
  }

  /** Listens on a connection of its own, and on a new one where that is lost. Throws where the first can't be made. */
  async listen(url: string, logger: Logger): Promise<void> {
    let client = await this.#connect(url)
    const follow = async () => {
      while (!this.#closed) {
        // Not `once` of node:events: that rejects on `error`.
        await new Promise<void>((resolve) => client.once('end', () => resolve()))
        while (!this.#closed) {
          await sleep(RECONNECT_MILLISECONDS, undefined, { ref: false })
          if (this.#closed) return
          try {
            client = await this.#connect(url)
            break
          } catch (error) {
            logger.warn({ reason: errorText(error) }, 'listening for payments failed; it will be repeated')
          }
        }
      }
    }
    void follow()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#client?.end()
  }

  async #connect(url: string): Promise<Client> {
    const client = new Client({ connectionString: url, application_name: 'billing listener', keepAlive: true })
    // Its `end` follows.
    client.on('error', () => undefined)
    client.on('notification', ({ payload }) => this.hear(payload))
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    this.#client = client
    if (this.#closed) await client.end()
    return client
  }
}
