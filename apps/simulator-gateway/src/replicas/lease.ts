import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

/** Without renewal for this long, another replica can take the lease. */
const LEASE_MS = 3_000
/** How often it is renewed, or tried again. */
const LEASE_TRY_MS = 1_000

const TAKE = `local holder = redis.call('get', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`
const GIVE_UP = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end`

/** `leads`: this replica has the lease. `follows`: another has it. `alone`: Redis can't be reached. */
export type Role = 'leads' | 'follows' | 'alone'

/** A lease in Redis that one replica holds at a time. A replica that was cut off notices at its next try. */
export class Lease {
  role: Role = 'alone'
  readonly #id = randomUUID()
  readonly #timer: NodeJS.Timeout
  #ended = false
  readonly #redis: Redis
  readonly #key: string
  readonly #onRole: (role: Role) => void

  /** @param onRole called whenever the role changes */
  constructor(redis: Redis, key: string, onRole: (role: Role) => void) {
    this.#redis = redis
    this.#key = key
    this.#onRole = onRole
    this.#timer = setInterval(this.#try, LEASE_TRY_MS).unref()
    redis.on('ready', this.#try).on('close', this.#try)
    this.#try()
  }

  end(): void {
    this.#ended = true
    clearInterval(this.#timer)
    this.#redis.off('ready', this.#try).off('close', this.#try)
    if (this.role === 'leads') this.#redis.eval(GIVE_UP, 1, this.#key, this.#id).catch(() => undefined)
  }

  readonly #try = (): void => {
    if (this.#redis.status !== 'ready') {
      this.#become('alone')
      return
    }
    this.#redis.eval(TAKE, 1, this.#key, this.#id, LEASE_MS).then(
      (taken) => this.#become(taken === 1 ? 'leads' : 'follows'),
      () => this.#become('alone'),
    )
  }

  #become(role: Role): void {
    if (this.#ended || role === this.role) return
    this.role = role
    this.#onRole(role)
  }
}
