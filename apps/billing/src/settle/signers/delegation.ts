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
const DELEGATION_GAS = 100_000n
/** 200 gas per byte of code, 40 per byte of calldata, and CREATE2 itself. */
const DEPLOYMENT_GAS = 400_000n

/** Delegates the accounts of one chain's signers to the batch contract (EIP-7702), once each; again after an earlier version of it. */
export class Delegation {
  readonly #attempts = new Map<Address, number>()
  readonly #obstacles = new Map<Address, string>()
  readonly #settling: Settling

  constructor(settling: Settling) {
    this.#settling = settling
  }

  /** Why the account can't be delegated, if that is known. Its payments are then settled one by one. */
  obstacleOf(signer: Address): string | null {
    return this.#obstacles.get(signer) ?? null
  }

  /**
   * Returns `delegated` if the account can send batches, else the stored transaction that delegates it, to be broadcast. `null` if it can't
   * be delegated; {@link obstacleOf} then has the reason. The signer must have nothing in flight. Throws `NodeFault`.
   */
  async ensure(signer: Address, nonce: number): Promise<'delegated' | SignedTransactionRow | null> {
    const code = await this.#settling.chain.latest.code(signer)
    if (code === DELEGATED_CODE) return 'delegated'
    const obstacle = await this.#findObstacle(signer, code)
    if (obstacle === null) return this.#delegate(signer, nonce)
    this.#obstacles.set(signer, obstacle)
    const { chain, logger } = this.#settling
    const ids = { network: chain.network, signer, obstacle }
    logger.error(ids, 'the signer cannot send batches; it settles payments one by one')
    return null
  }

  async #findObstacle(signer: Address, code: Hex): Promise<string | null> {
    const { chain } = this.#settling
    if (code !== '0x' && !EARLIER_DELEGATED_CODES.includes(code)) return 'the account has other code already'
    if ((this.#attempts.get(signer) ?? 0) >= MAX_ATTEMPTS) return 'its delegations had no effect'
    if (!(await chain.hasDelegations())) return 'the chain has no EIP-7702 yet'
    const contract = await chain.latest.code(SETTLEMENT_BATCH)
    if (contract === SETTLEMENT_BATCH_CODE) return null
    if (contract !== '0x') return `other code is at ${SETTLEMENT_BATCH}`
    const canDeploy = (await chain.latest.code(CREATE2_DEPLOYER)) !== '0x'
    return canDeploy ? null : `the chain lacks the deployer ${CREATE2_DEPLOYER}`
  }

  /** Also deploys the contract if it is missing: with CREATE2 its address determines its code. */
  async #delegate(signer: Address, nonce: number): Promise<SignedTransactionRow> {
    const { chain, db, logger } = this.#settling
    this.#attempts.set(signer, (this.#attempts.get(signer) ?? 0) + 1)
    const isDeployed = (await chain.latest.code(SETTLEMENT_BATCH)) !== '0x'
    const intent = isDeployed
      ? { signer, to: signer, data: '0x' as const, gas: DELEGATION_GAS }
      : { signer, to: CREATE2_DEPLOYER, data: BATCH_DEPLOYMENT, gas: DELEGATION_GAS + DEPLOYMENT_GAS }
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
