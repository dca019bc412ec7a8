import { setTimeout as sleep } from 'node:timers/promises'
import { traced } from '@upfront/node'
import type { Address, Hash } from '@upfront/protocol'
import type { Logger } from '@upfront/service'
import type { Chain } from '../../chain/chain.js'
import { NodeFault, NodeRefusal } from '../../chain/node-error.js'
import type { SignedTransactionRow } from '../../ledger/schema.js'

/** A distant node answers later than this, but requests still leave in order. */
const STAGGER_MS = 10

/**
 * Sends each signer's transactions in nonce order. The next ones follow, in one request, when the previous was answered or sent a moment
 * ago. Out of order, a node may hold the later ones back.
 */
export class Broadcasts {
  /** Broadcasts under way: the payments of a batch share one. */
  readonly #sending = new Map<Hash, Promise<void>>()
  /** By signer: resolves when the next transaction may be sent. */
  readonly #turns = new Map<Address, Promise<void>>()
  readonly #chain: Chain
  readonly #logger: Logger
  readonly #onSent: () => void

  /** @param onSent called after each broadcast, whatever the node answered */
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
    this.#turns.set(transaction.signer, Promise.race([passed, sleep(STAGGER_MS)]))
    await sent
    this.#onSent()
  }
}

/** Sends a stored transaction. Whatever the node answers, the transaction stays stored and its outcome is looked up by hash. */
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
