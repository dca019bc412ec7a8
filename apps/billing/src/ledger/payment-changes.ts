import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Network, PaymentState } from '@upfront/protocol'
import { errorText, type Logger } from '@upfront/service'
import { Client } from 'pg'

/** Channel of the trigger `payments_notify`. */
export const CHANNEL = 'payments'
const RECONNECT_MS = 1_000

/** A payment's progress, made by any process. */
export interface PaymentProgress {
  network: Network
  id: string
  state: PaymentState
  /** The seller need not wait longer: the payment is mined, or doubtful. */
  isKnown: boolean
}

/** Emits `progress`. Notifications are lost while the connection to Postgres is down, so listeners must also poll. */
export class PaymentChanges extends EventEmitter<{ progress: [PaymentProgress] }> {
  #client: Client | null = null
  #closed = false

  /** @param payload written by `payments_notify` */
  onNotification(payload = ''): void {
    const [network, id, state, known] = payload.split(' ')
    const progress = { network, id, state, isKnown: known !== undefined }
    this.emit('progress', progress as PaymentProgress)
  }

  /** Listens on a dedicated connection, and reconnects if it is lost. Throws if the first connection fails. */
  async listen(url: string, logger: Logger): Promise<void> {
    let client = await this.#connect(url)
    const follow = async () => {
      while (!this.#closed) {
        // `once` of node:events would reject on `error`.
        await new Promise<void>((resolve) => client.once('end', () => resolve()))
        while (!this.#closed) {
          await sleep(RECONNECT_MS, undefined, { ref: false })
          if (this.#closed) return
          try {
            client = await this.#connect(url)
            break
          } catch (error) {
            logger.warn({ reason: errorText(error) }, 'listening for payments failed; it will be retried')
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
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: 10_000,
      application_name: 'billing listener',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    })
    // `end` follows every `error`.
    client.on('error', () => undefined)
    client.on('notification', ({ payload }) => this.onNotification(payload))
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    this.#client = client
    if (this.#closed) await client.end()
    return client
  }
}
