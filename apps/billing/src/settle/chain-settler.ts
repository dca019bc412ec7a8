import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '@upfront/protocol'
import { type Claimant, claimCharges, claimSubmitted, readWork } from '../ledger/claim-work.js'
import type { PaymentRow } from '../ledger/schema.js'
import type { GasPolicy } from './signers/gas-policy.js'
import { type Settling, Submissions } from './submissions.js'
import { Batches } from './submit/batches.js'

const LONGEST_PAUSE_MILLISECONDS = 200

/**
 * Settles the payments of one chain. What is to be done is in the ledger: this claims as much as there is room for, whenever a
 * charge is stored, a block comes, or something has ended; and looks from time to time all the same.
 */
export class ChainSettler {
  readonly submissions: Submissions
  readonly #batches: Batches
  /** Signers whose next batch is being made; `true`: there is more to look for afterwards. */
  readonly #batching = new Map<Address, boolean>()
  /** How many more charges each signer could submit at the last look, less what it was given since. */
  readonly #room = new Map<Address, number>()
  /** Charges that are being stored, and may be taken up here once they are. */
  readonly #offered = new Set<string>()
  /** Charges that were taken up since the last look began. */
  #taken: PaymentRow[] = []
  #stopped = false
  #isWoken = false
  #wakeUp = () => {}
  /** Whether charges were left behind for want of capacity. */
  #isFull = false
  readonly #settling: Settling
  readonly #gasPolicy: GasPolicy

  constructor(settling: Settling, gasPolicy: GasPolicy, onProgress: (payment: PaymentRow) => void) {
    this.#settling = settling
    this.#gasPolicy = gasPolicy
    this.#batches = new Batches(settling)
    this.submissions = new Submissions(settling, {
      onProgress,
      onMined: (payment) => this.#addRoom(payment, 1),
      onRoom: () => void (this.#isFull && this.wake()),
      putBack: (payment) => this.#putBack(payment),
    })
  }

  /** Ends once it is stopped and what was under way has ended. */
  async run(): Promise<void> {
    const reading = this.submissions.run()
    while (!this.#stopped) {
      this.#isWoken = false
      await this.submissions.attempt('claiming work', {}, () => this.#claim())
      await this.#pause()
    }
    await reading
    while (this.#batching.size > 0 || !this.submissions.isIdle) await sleep(20)
  }

  stop(): void {
    this.#stopped = true
    this.submissions.stop()
    this.wake()
  }

  wake(): void {
    this.#isWoken = true
    this.#wakeUp()
  }

  isWorkingOn(paymentId: string): boolean {
    return this.submissions.working.has(paymentId) || this.#offered.has(paymentId)
  }

  /** The signers that could submit one more charge at once, which is about to be stored. Followed by `withdraw`. */
  offer(paymentId: string): Address[] {
    this.#offered.add(paymentId)
    // What was left behind goes first.
    if (this.#stopped || this.#isFull) return []
    return this.#ready().filter((signer) => {
      return (this.#room.get(signer) ?? 0) >= this.#offered.size && !this.#batches.serves(signer)
    })
  }

  /** Submits a charge that was claimed as it was stored. */
  take(charged: PaymentRow): void {
    this.#addRoom(charged, -1)
    this.#taken.push(charged)
    this.submissions.take([charged])
  }

  /** The charge is stored, or not. */
  withdraw(paymentId: string): void {
    this.#offered.delete(paymentId)
  }

  /** Signers that should settle in batches and can't, and why. */
  get batchObstacles(): Record<Address, string> {
    const all = this.#signers().map((signer) => [signer, this.#batches.obstacleOf(signer)] as const)
    return Object.fromEntries(all.filter((each): each is readonly [Address, string] => each[1] !== null))
  }

  #signers(): Address[] {
    return [...this.#settling.chain.signers.keys()]
  }

  /** Those that need not wait for gas. */
  #ready(): Address[] {
    return this.#signers().filter((signer) => this.#gasPolicy.waitOf(this.#settling.chain, signer) === null)
  }

  #addRoom({ facilitator }: PaymentRow, charges: number): void {
    const room = this.#room.get(facilitator)
    if (room !== undefined) this.#room.set(facilitator, room + charges)
  }

  #putBack(payment: PaymentRow): boolean {
    if (!this.#batches.serves(payment.facilitator)) return false
    this.#batches.putBack(payment)
    this.wake()
    return true
  }

  async #pause(): Promise<void> {
    if (this.#isWoken) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#settling.environment.LIMITS.recoveryMs)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async #claim(): Promise<void> {
    const { chain, db, environment } = this.#settling
    const { recoveryMs, inFlightPerSigner, batchSize } = environment.LIMITS
    const signers = this.#signers()
    const { working } = this.submissions
    const claimant: Claimant = {
      network: chain.network,
      signers,
      working: [...working.keys()],
      nextLookMilliseconds: recoveryMs,
    }
    // What is signed while the ledger is read is counted twice for a moment, rather than not at all.
    const charging = [...working.values()].filter(({ state }) => state === 'charging')
    this.#taken = []
    const work = await readWork(db, claimant, chain.confirmedBlock)
    await this.submissions.refresh(claimant)
    const begun = [...charging, ...this.#taken]
    const due = work.filter(({ hasCharges }) => hasCharges).map(({ signer }) => signer)
    const ready = this.#ready()
    for (const signer of ready.filter((one) => this.#batches.serves(one))) {
      if (due.includes(signer) || this.#batches.hasPutBack(signer)) this.#takeBatch(signer, claimant)
    }
    for (const signer of signers) {
      const submitted = work.find((one) => one.signer === signer)?.count ?? 0
      this.#room.set(signer, inFlightPerSigner - submitted - countOf(begun, signer))
    }
    const single = ready.filter((signer) => !this.#batches.serves(signer))
    const wanted = single.filter((signer) => due.includes(signer))
    const capacities = wanted
      .map((signer) => ({ signer, count: (this.#room.get(signer) ?? 0) - this.#offered.size }))
      .filter(({ count }) => count > 0)
    // Nobody is given what is claimed for.
    for (const signer of wanted) this.#room.set(signer, 0)
    const claimed = capacities.length === 0 ? [] : await claimCharges(db, claimant, capacities)
    const left = capacities.map(({ signer, count }) => ({ signer, count: count - countOf(claimed, signer) }))
    this.#isFull =
      single.length < ready.length || capacities.length < wanted.length || left.some(({ count }) => count === 0)
    for (const { signer, count } of left) this.#room.set(signer, count)
    this.submissions.take(claimed)
    if (!work.some(({ hasSubmitted }) => hasSubmitted)) return
    const most = (environment.SETTLEMENT === 'batch' ? batchSize : inFlightPerSigner) * signers.length
    this.submissions.take(await claimSubmitted(db, claimant, chain.confirmedBlock, most))
  }

  /** Lets the signer settle a batch, unless it is at it, or was a moment ago. */
  #takeBatch(signer: Address, claimant: Claimant): void {
    if (this.#batching.has(signer)) return void this.#batching.set(signer, true)
    const pause = this.#batches.pauseOf(signer)
    this.#batching.set(signer, pause > 0)
    const take = async () => {
      // In parts, so that a stop does not wait for long.
      if (pause > 0) return sleep(Math.min(pause, LONGEST_PAUSE_MILLISECONDS))
      const { transaction, settled, doubtful } = await this.#batches.take(signer, claimant)
      this.submissions.takeDoubtful(doubtful)
      if (transaction === null) return
      this.#batching.set(signer, true)
      const { metrics, chain } = this.#settling
      if (settled.length > 0) metrics.batchSizes.observe({ network: chain.network }, settled.length)
      await this.submissions.send(transaction, settled)
    }
    void this.submissions.attempt('settling a batch', {}, take).then(() => {
      const hasMore = this.#batching.get(signer)
      this.#batching.delete(signer)
      if (hasMore) this.wake()
    })
  }
}

function countOf(charges: readonly PaymentRow[], signer: Address): number {
  return charges.filter(({ facilitator }) => facilitator === signer).length
}
