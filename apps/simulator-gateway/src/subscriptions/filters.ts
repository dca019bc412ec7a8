import { randomBytes } from 'node:crypto'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { NETWORK_MULTIPLE, networkOf } from '../limits/client-of.js'
import { Tally } from '../limits/tally.js'

/** A filter that is not polled for this long is removed; geth's default. */
const EXPIRES_MS = 300_000
const MAX_PER_CLIENT = 64
const MAX_PER_NETWORK = NETWORK_MULTIPLE * MAX_PER_CLIENT
const MAX_IN_ALL = 4_096
/** Most pending changes of a filter, in characters. */
const MAX_WAITING = 1024 * 1024
/** Most pending changes of all filters together, in characters. */
const MAX_WAITING_IN_ALL = 64 * 1024 * 1024

interface Filter {
  client: string
  /** Its log filter, for `eth_getFilterLogs`. */
  logs: object | undefined
  changes: string[]
  length: number
  timer: NodeJS.Timeout
  leave: () => void
}

/** Passes a filter its changes, each as JSON, until it ends. @returns a function that ends it */
export type FilterSource = (note: (...changes: string[]) => void, ended: () => void) => Promise<() => void>

/**
 * Filters that clients poll (`eth_newFilter` and the like). A filter that is not polled for five minutes, or has too many pending changes,
 * is removed as a whole: its client gets `filter not found` and makes a new one. No filter ever skips changes.
 */
export class Filters {
  readonly #filters = new Map<string, Filter>()
  /** Filters per client, and per network of clients. */
  readonly #count = new Tally()
  #length = 0

  /**
   * Makes a filter.
   * @param logs the equivalent parameters of `eth_getLogs`
   * @returns its ID
   * @throws RpcError -32005 if the client, its network or all clients are at their limit; or what `source` throws
   */
  async make(client: string, source: FilterSource, logs?: object): Promise<string> {
    const network = networkOf(client)
    if (this.#count.of(client) >= MAX_PER_CLIENT) throw full(`a client may have at most ${MAX_PER_CLIENT} filters`)
    if (network !== undefined && this.#count.of(network) >= MAX_PER_NETWORK)
      throw full(`the clients of a network may have at most ${MAX_PER_NETWORK} filters`)
    if (this.#filters.size >= MAX_IN_ALL) throw full(`this server keeps at most ${MAX_IN_ALL} filters`)
    const id = `0x${randomBytes(16).toString('hex')}`
    const timer = setTimeout(() => this.end(id), EXPIRES_MS).unref()
    const filter: Filter = { client, logs, changes: [], length: 0, timer, leave: () => undefined }
    this.#filters.set(id, filter)
    this.#add(client, 1)
    try {
      const leave = await source(
        (...changes) => this.#note(id, changes),
        () => this.end(id),
      )
      // It was removed while the source was starting.
      if (!this.#filters.has(id)) leave()
      filter.leave = leave
    } catch (error) {
      this.end(id)
      throw error
    }
    return id
  }

  /** The changes since the last poll, as a JSON list. @throws RpcError -32000 if there is no such filter */
  changes(id: string): string {
    const filter = this.#find(id)
    filter.timer.refresh()
    const { changes } = filter
    this.#length -= filter.length
    filter.changes = []
    filter.length = 0
    return `[${changes.join(',')}]`
  }

  /** The parameters of a log filter. @throws RpcError -32000 if there is no such filter */
  logs(id: string): object {
    const { logs, timer } = this.#find(id)
    timer.refresh()
    if (logs === undefined) throw noFilter()
    return logs
  }

  /** Returns false if there is no such filter. */
  end(id: string): boolean {
    const filter = this.#filters.get(id)
    if (filter === undefined) return false
    this.#filters.delete(id)
    clearTimeout(filter.timer)
    this.#length -= filter.length
    this.#add(filter.client, -1)
    filter.leave()
    return true
  }

  #add(client: string, filters: 1 | -1): void {
    this.#count.add(client, filters)
    const network = networkOf(client)
    if (network !== undefined) this.#count.add(network, filters)
  }

  #note(id: string, changes: readonly string[]): void {
    const filter = this.#filters.get(id)
    if (filter === undefined) return
    for (const change of changes) {
      filter.changes.push(change)
      filter.length += change.length
      this.#length += change.length
    }
    if (filter.length > MAX_WAITING || this.#length > MAX_WAITING_IN_ALL) this.end(id)
  }

  #find(id: string): Filter {
    const filter = this.#filters.get(id)
    if (filter === undefined) throw noFilter()
    return filter
  }
}

function full(message: string): RpcError {
  return new RpcError(ErrorCode.limitExceeded, message)
}

/** geth's error. */
function noFilter(): RpcError {
  return new RpcError(ErrorCode.serverError, 'filter not found')
}
