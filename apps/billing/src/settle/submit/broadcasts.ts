import { setTimeout as sleep } from 'node:timers/promises'
import { traced } from '@upfront/node'
import type { Address, Hash } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import type { Chain } from '../../chain/chain.js'
import { NodeFault, NodeRefusal } from '../../chain/node-error.js'
import type { SignedTransactionRow } from '../../ledger/schema.js'

/** A far node answers later than this; its requests still leave in order. */
const STAGGER_MILLISECONDS = 10

/**
 * Sends each signer's transactions in the order of their nonces: those that wait go together, in one request, when those before were
 * answered, or soon after they left. A node that gets them out of order may hold the later ones back.
 */
export class Broadcasts {
  /** Transactions that are being sent: the payments of a batch share one. */
  readonly #sending = new Map<Hash, Promise<void>>()
  /** By signer: when the next transaction may be sent. */
  readonly #turns = new Map<Address, Promise<void>>()
  readonly #chain: Chain
  readonly #logger: Logger
  readonly #onSent: () => void

  /** @param onSent called once a transaction was sent, whatever the node answered */
  constructor(chain: Chain, logger: Logger, onSent: () => void) {
    this.#chain = chain
    this.#logger = logger
    this.#onSent = onSent
  }

  send(transaction: SignedTransactionRow): Promise<void> {
    const known = this.#sending.get(transaction.hash)
    if (known !== undefined) return known
    const sending = this.#inTurn(transaction).finally(() => this.#sending.delete(transaction.hash))
    this.#sending.set(transaction.hash, sending)
    return sending
  }

  async #inTurn(transaction: SignedTransactionRow): Promise<void> {
    await this.#turns.get(transaction.signer)
    const sent = broadcast(this.#chain, transaction, this.#logger)
    const passed = sent.catch(() => undefined)
    this.#turns.set(transaction.signer, Promise.race([passed, sleep(STAGGER_MILLISECONDS)]))
    await sent
    this.#onSent()
  }
}

/**
 * Sends a stored transaction. Whatever the node answers, the transaction stays stored and is looked for by its hash: an
 * answer that is lost or unclear is never taken for an outcome.
 */
export async function broadcast(chain: Chain, transaction: SignedTransactionRow, logger: Logger): Promise<void> {
  const { hash, signer, nonce, network } = transaction
  try {
    await traced('broadcast', () => chain.send(transaction.raw), { attributes: { network, nonce, transaction: hash } })
  } catch (error) {
    if (error instanceof NodeRefusal && /already known|already imported|known transaction/i.test(error.message)) return
    if (!(error instanceof NodeRefusal || error instanceof NodeFault)) throw error
    const level = error instanceof NodeRefusal && /insufficient funds/i.test(error.message) ? 'error' : 'warn'
    logger[level]({ network, signer, nonce, transaction: hash, reason: error.message }, 'broadcast not acknowledged')
  }
}
