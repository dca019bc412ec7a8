import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from '@upfront/protocol'
import { type Claimant, claimCharges, claimSubmitted, readWork } from '../ledger/claim-work.js'
import type { PaymentRow } from '../ledger/schema.js'
import type { GasPolicy } from './signers/gas-policy.js'
import { type Settling, Submissions } from './submissions.js'
import { Batches } from './submit/batches.js'

const MAX_PAUSE_MS = 200

/**
 * Settles the payments of one chain. The work is in the ledger; this claims as much as there is capacity for whenever a charge is stored, a
 * block arrives or work ends, and also on a timer.
 */
export class ChainSettler {
  readonly submissions: Submissions
  readonly #batches: Batches
  /** Signers whose next batch is being made; `true`: look for more work afterwards. */
  readonly #batching = new Map<Address, boolean>()
  /** Charges that each signer could still submit as of the last look, minus those assigned since. */
  readonly #room = new Map<Address, number>()
  /** Ids of charges that are being stored and may be claimed here. */
  readonly #offered = new Set<string>()
  /** Charges taken up since the last look began. */
  #taken: PaymentRow[] = []
  #stopped = false
  #isWoken = false
  #wakeUp = () => {}
  /** Whether charges had to wait for capacity. */
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

  /** Resolves after `stop`, once all work under way has ended. */
  async run(): Promise<void> {
    const reading = this.submissions.run()
    while (!this.#stopped) {
      this.#isWoken = false
      await this.submissions.attempt('claiming work', {}, () => this.#claim())
      await this.submissions.attempt('examining obstacles', {}, () => this.#batches.reexamineObstacles())
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

  /** The signers with capacity for a charge that is about to be stored. Must be followed by `withdraw`. */
  offer(paymentId: string): Address[] {
    this.#offered.add(paymentId)
    // Charges that wait for capacity go first.
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

  /** Called when the charge was stored, or failed to be. */
  withdraw(paymentId: string): void {
    this.#offered.delete(paymentId)
  }

  /** Signers that should send batches but can't, with the reason. */
  get batchObstacles(): Record<Address, string> {
    const all = this.#signers().map((signer) => [signer, this.#batches.obstacleOf(signer)] as const)
    return Object.fromEntries(all.filter((each): each is readonly [Address, string] => each[1] !== null))
  }

  #signers(): Address[] {
    return [...this.#settling.chain.signers.keys()]
  }

  /** Signers that need not wait for gas. */
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
    // Read before the ledger: a charge signed in the meantime may be counted twice, but is never missed.
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
    // Capacity that is being claimed for must not be offered concurrently.
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

  /** Makes the signer's next batch, unless one is being made or the batch interval has not passed. */
  #takeBatch(signer: Address, claimant: Claimant): void {
    if (this.#batching.has(signer)) return void this.#batching.set(signer, true)
    const pause = this.#batches.pauseOf(signer)
    this.#batching.set(signer, pause > 0)
    const take = async () => {
      // Sleeps in short steps, so that `stop` takes effect soon.
      if (pause > 0) return sleep(Math.min(pause, MAX_PAUSE_MS))
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
