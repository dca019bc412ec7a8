import { setTimeout as sleep } from 'node:timers/promises'
import type { Address, Hash } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import type { Chain } from '../../chain/chain.js'
import type { SignedTransactionRow } from '../../ledger/schema.js'
import { broadcast } from '../signers/broadcast.js'

/** A far node answers later than this; its requests still leave in order. */
const STAGGER_MILLISECONDS = 10

/**
 * Sends each signer's transactions in the order of their nonces: each begins when the one before was answered, or soon after it
 * began. A node that gets them out of order may hold the later ones back.
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
    const turn = this.#turns.get(transaction.signer) ?? Promise.resolve()
    const sent = turn.then(() => broadcast(this.#chain, transaction, this.#logger))
    const passed = sent.catch(() => undefined)
    this.#turns.set(transaction.signer, Promise.race([passed, turn.then(() => sleep(STAGGER_MILLISECONDS))]))
    await sent
    this.#onSent()
  }
}
