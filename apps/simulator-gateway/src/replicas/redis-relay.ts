import type { Relay, RelayListener, RelayMember } from '@upfront/chain'
import type { Redis } from 'ioredis'
import { Lease, type Role } from './lease.js'

/** Messages kept for readers that lag a little. */
const MAX_KEPT = 64
const KEPT_MS = 60_000
const BLOCK_MS = 1_000
const FIELD = 'message'

/** Relays messages through a Redis stream: the replica with the lease publishes what it receives, the others read it. */
export class RedisRelay implements Relay {
  #member: Member | undefined
  readonly #redis: Redis
  readonly #name: () => Promise<string>

  /** @param name key of the stream; equal for replicas that relay the same data of the same chain */
  constructor(redis: Redis, name: () => Promise<string>) {
    this.#redis = redis
    this.#name = name
  }

  /** For `/health/ready`; undefined while nothing is followed. */
  get role(): Role | undefined {
    return this.#member?.role
  }

  join(listener: RelayListener): RelayMember {
    const member = new Member(this.#redis, this.#name, listener, () => {
      if (this.#member === member) this.#member = undefined
    })
    this.#member = member
    return member
  }
}

class Member implements RelayMember {
  #lease: Lease | undefined
  #key = ''
  #reader: Redis | undefined
  #isReading = false
  #left = false
  readonly #redis: Redis
  readonly #listener: RelayListener
  readonly #onLeft: () => void

  constructor(redis: Redis, name: () => Promise<string>, listener: RelayListener, onLeft: () => void) {
    this.#redis = redis
    this.#listener = listener
    this.#onLeft = onLeft
    void this.#begin(name)
  }

  get role(): Role {
    return this.#lease?.role ?? 'alone'
  }

  get leads(): boolean {
    return this.role !== 'follows'
  }

  get follows(): boolean {
    return this.#isReading
  }

  publish(message: Buffer | string): void {
    if (this.role !== 'leads' || this.#redis.status !== 'ready') return
    this.#redis
      .multi()
      .xadd(this.#key, 'MAXLEN', '~', MAX_KEPT, '*', FIELD, message)
      .pexpire(this.#key, KEPT_MS)
      .exec()
      .catch(() => undefined)
  }

  leave(): void {
    this.#left = true
    this.#lease?.end()
    this.#stopReading()
    this.#onLeft()
  }

  /** The name may need an answer of the node; until then this replica acts alone. */
  async #begin(name: () => Promise<string>): Promise<void> {
    try {
      this.#key = `upfront:${await name()}`
    } catch {
      if (!this.#left) setTimeout(() => void this.#begin(name), BLOCK_MS).unref()
      return
    }
    if (this.#left) return
    this.#lease = new Lease(this.#redis, `${this.#key}:lease`, (role) => {
      this.#stopReading()
      if (role === 'follows') void this.#read()
      else this.#listener.onChange()
    })
  }

  #stopReading(): void {
    this.#reader?.disconnect()
    this.#reader = undefined
    this.#isReading = false
  }

  /** Reads on its own connection, because blocking reads occupy it. */
  async #read(): Promise<void> {
    const reader = this.#redis.duplicate({
      commandTimeout: undefined as never,
      retryStrategy: () => null,
      enableOfflineQueue: true,
    })
    reader.on('error', () => undefined)
    this.#reader = reader
    try {
      const [newest] = await reader.xrevrange(this.#key, '+', '-', 'COUNT', 1)
      let after = newest?.[0] ?? '0-0'
      if (this.#reader !== reader) return
      this.#isReading = true
      this.#listener.onChange()
      while (this.#reader === reader) {
        const streams = (await reader.xreadBuffer('BLOCK', BLOCK_MS, 'STREAMS', this.#key, after)) as Streams
        for (const [id, [, message]] of streams?.[0]?.[1] ?? []) {
          after = id.toString()
          if (this.#reader === reader && message !== undefined) this.#listener.onMessage(message)
        }
      }
    } catch {
      // Redis is down, or this replica's role has changed.
      if (this.#reader !== reader) return
      this.#stopReading()
      this.#listener.onChange()
      if (this.role === 'follows')
        setTimeout(() => this.role === 'follows' && !this.#left && void this.#read(), BLOCK_MS).unref()
    }
  }
}

type Streams = [key: Buffer, entries: [id: Buffer, fields: Buffer[]][]][] | null
