import { type Cancellation, onAbort } from '@upfront/node'
import { Overloaded } from './overloaded.js'
import { ClientGone } from './request-lifetime.js'

interface Waiting {
  enter: () => void
}

/** At most `maxInFlight` requests at a time; `maxQueued` more wait their turn, first come first served. */
export class RequestQueue {
  private running = 0
  private readonly waiting = new Set<Waiting>()

  constructor(
    private readonly maxInFlight: number,
    private readonly maxQueued: number,
  ) {}

  get inFlight(): number {
    return this.running
  }

  get queued(): number {
    return this.waiting.size
  }

  /**
   * Returns undefined where there is room, else a promise that resolves with the turn. Call `leave` once for each turn.
   * @throws Overloaded where the queue is full. Rejects with Overloaded when the signal aborts, or with ClientGone if that is its reason
   */
  enter(cancellation: Cancellation): Promise<void> | undefined {
    if (this.running < this.maxInFlight) {
      this.running++
      return undefined
    }
    if (this.waiting.size >= this.maxQueued) {
      throw new Overloaded(`too many requests at once (${this.maxInFlight} in flight, ${this.maxQueued} waiting)`)
    }
    const { signal } = cancellation
    return new Promise((resolve, reject) => {
      const turn: Waiting = {
        enter: () => {
          takeOff()
          resolve()
        },
      }
      this.waiting.add(turn)
      const takeOff = onAbort(signal, () => {
        this.waiting.delete(turn)
        reject(
          signal.reason instanceof ClientGone
            ? signal.reason
            : new Overloaded('the request waited too long for its turn'),
        )
      })
    })
  }

  leave(): void {
    const [next] = this.waiting
    if (next === undefined) {
      this.running--
    } else {
      this.waiting.delete(next)
      next.enter()
    }
  }
}
