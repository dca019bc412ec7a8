import type { Address, Hex } from '@upfront/protocol'
import { NodeFault } from '../../chain/node-error.js'
import {
  BATCH_DEPLOYMENT,
  CREATE2_DEPLOYER,
  DELEGATED_CODE,
  EARLIER_DELEGATED_CODES,
  SETTLEMENT_BATCH,
  SETTLEMENT_BATCH_CODE,
} from '../../chain/settlement-batch.js'
import type { SignedTransactionRow } from '../../ledger/schema.js'
import { storeTransaction } from '../../ledger/signed-transactions.js'
import type { Settling } from '../submissions.js'
import { signTransaction, takeNonces } from './sign.js'

/** Limits repeated delegations that are mined but have no effect. */
const MAX_ATTEMPTS = 3
/** An obstacle is examined again after this many recovery rounds: the chain may have forked, or the contract was deployed. */
const OBSTACLE_ROUNDS = 100
const DELEGATION_GAS = 100_000n
/** 200 gas per byte of code, 40 per byte of calldata, and CREATE2 itself. */
const DEPLOYMENT_GAS = 400_000n

/** Code of a signer's account, and at the batch contract's address. */
interface Codes {
  account: Hex
  contract: Hex
}

/** Delegates the accounts of one chain's signers to the batch contract (EIP-7702), once each; again after an earlier version of it. */
export class Delegation {
  readonly #attempts = new Map<Address, number>()
  readonly #obstacles = new Map<Address, { obstacle: string; examinedAt: number }>()
  readonly #settling: Settling

  constructor(settling: Settling) {
    this.#settling = settling
  }

  /** Why the account can't be delegated, if that is known. Its payments are then settled one by one. */
  obstacleOf(signer: Address): string | null {
    return this.#obstacles.get(signer)?.obstacle ?? null
  }

  /**
   * Returns `delegated` if the account can send batches, else the stored transaction that delegates it, to be broadcast. `null` if it can't
   * be delegated; {@link obstacleOf} then has the reason. The signer must have nothing in flight. Throws `NodeFault`.
   */
  async ensure(signer: Address, nonce: number): Promise<'delegated' | SignedTransactionRow | null> {
    const codes = await this.#readCodes(signer)
    if (codes.account === DELEGATED_CODE && codes.contract === SETTLEMENT_BATCH_CODE) return 'delegated'
    const obstacle = await this.#findObstacle(signer, codes)
    if (obstacle === null) return this.#delegate(signer, nonce, codes)
    this.#obstacles.set(signer, { obstacle, examinedAt: Date.now() })
    const { chain, logger } = this.#settling
    const ids = { network: chain.network, signer, obstacle }
    logger.error(ids, 'the signer cannot send batches; it settles payments one by one')
    return null
  }

  /** Examines obstacles again that have been known for a while, and forgets those that are gone. Throws `NodeFault`. */
  async reexamine(): Promise<void> {
    const { chain, environment, logger } = this.#settling
    const before = Date.now() - OBSTACLE_ROUNDS * environment.LIMITS.recoveryMs
    for (const [signer, known] of this.#obstacles) {
      if (known.examinedAt > before) continue
      known.examinedAt = Date.now()
      this.#attempts.set(signer, Math.min(this.#attempts.get(signer) ?? 0, MAX_ATTEMPTS - 1))
      const obstacle = await this.#findObstacle(signer, await this.#readCodes(signer))
      if (obstacle !== null) {
        known.obstacle = obstacle
        continue
      }
      this.#obstacles.delete(signer)
      logger.info({ network: chain.network, signer, obstacle: known.obstacle }, 'the signer may send batches again')
    }
  }

  async #readCodes(signer: Address): Promise<Codes> {
    const { latest } = this.#settling.chain
    const [account, contract] = await Promise.all([latest.code(signer), latest.code(SETTLEMENT_BATCH)])
    return { account, contract }
  }

  async #findObstacle(signer: Address, { account, contract }: Codes): Promise<string | null> {
    const { chain } = this.#settling
    if (!['0x', DELEGATED_CODE, ...EARLIER_DELEGATED_CODES].includes(account))
      return 'the account has other code already'
    if ((this.#attempts.get(signer) ?? 0) >= MAX_ATTEMPTS) return 'its delegations had no effect'
    if (!(await chain.hasDelegations())) return 'the chain has no EIP-7702 yet'
    if (contract === SETTLEMENT_BATCH_CODE) return null
    if (contract !== '0x') return `other code is at ${SETTLEMENT_BATCH}`
    const canDeploy = (await chain.latest.code(CREATE2_DEPLOYER)) !== '0x'
    return canDeploy ? null : `the chain lacks the deployer ${CREATE2_DEPLOYER}`
  }

  /** Also deploys the contract if it is missing: with CREATE2 its address determines its code. */
  async #delegate(signer: Address, nonce: number, { contract }: Codes): Promise<SignedTransactionRow> {
    const { chain, db, logger } = this.#settling
    this.#attempts.set(signer, (this.#attempts.get(signer) ?? 0) + 1)
    const intent =
      contract === '0x'
        ? { signer, to: CREATE2_DEPLOYER, data: BATCH_DEPLOYMENT, gas: DELEGATION_GAS + DEPLOYMENT_GAS }
        : { signer, to: signer, data: '0x' as const, gas: DELEGATION_GAS }
    const fees = await chain.fees()
    const transaction = await db.transaction(async (tx) => {
      const next = await takeNonces(tx, chain, signer, 2)
      if (next !== nonce) throw new NodeFault(`another process sends transactions of ${signer}`)
      const signed = await signTransaction(chain, intent, nonce, fees, SETTLEMENT_BATCH)
      await storeTransaction(tx, signed, [])
      return signed
    })
    const ids = { network: chain.network, signer, transaction: transaction.hash }
    logger.info(ids, 'delegating the signer to SettlementBatch')
    return transaction
  }
}
