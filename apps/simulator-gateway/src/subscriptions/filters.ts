import { randomBytes } from 'node:crypto'
import { ErrorCode, RpcError } from '@upfront/protocol'
import { MOST_TIMES_OF_A_NETWORK, networkOf } from '../limits/client-of.js'
import { Tally } from '../limits/tally.js'

/** A filter that nobody asks for so long is forgotten (geth's time). */
const EXPIRES_MS = 300_000
const MOST_OF_A_CLIENT = 64
const MOST_OF_A_NETWORK = MOST_TIMES_OF_A_NETWORK * MOST_OF_A_CLIENT
const MOST_OF_ALL = 4_096
/** Characters of changes that wait to be asked for. */
const MOST_WAITING = 1024 * 1024
/** Of all filters. */
const MOST_WAITING_OF_ALL = 64 * 1024 * 1024

interface Filter {
  client: string
  /** What it was made with: for `eth_getFilterLogs`. */
  logs: object | undefined
  changes: string[]
  length: number
  timer: NodeJS.Timeout
  leave: () => void
}

/** Gives a filter its changes, each as JSON, until it ends. @returns what ends it */
export type FilterSource = (note: (...changes: string[]) => void, ended: () => void) => Promise<() => void>

/**
 * Filters that clients ask for changes over and over (`eth_newFilter` and its kin). One that is not asked for five minutes, or has more waiting than
 * is kept, is forgotten: its client is told that there is none, and makes another. None leaves changes out.
 */
export class Filters {
  readonly #filters = new Map<string, Filter>()
  /** By client, and by network of clients. */
  readonly #count = new Tally()
  #length = 0

  /**
   * Makes a filter.
   * @param logs the parameters of `eth_getLogs` that it stands for
   * @returns its id
   * @throws RpcError -32005 where the client, its network or all clients have all they may have; what `source` does
   */
  async make(client: string, source: FilterSource, logs?: object): Promise<string> {
    const network = networkOf(client)
    if (this.#count.of(client) >= MOST_OF_A_CLIENT) throw full(`a client may have ${MOST_OF_A_CLIENT} filters`)
    if (network !== undefined && this.#count.of(network) >= MOST_OF_A_NETWORK)
      throw full(`the clients of a network may have ${MOST_OF_A_NETWORK} filters`)
    if (this.#filters.size >= MOST_OF_ALL) throw full(`all filters are taken: there are ${MOST_OF_ALL}`)
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
      // It ended meanwhile.
      if (!this.#filters.has(id)) leave()
      filter.leave = leave
    } catch (error) {
      this.end(id)
      throw error
    }
    return id
  }

  /** What came since it was asked last, as a JSON list. @throws RpcError -32000 where there is no such filter */
  changes(id: string): string {
    const filter = this.#find(id)
    filter.timer.refresh()
    const { changes } = filter
    this.#length -= filter.length
    filter.changes = []
    filter.length = 0
    return `[${changes.join(',')}]`
  }

  /** What a filter of logs was made with. @throws RpcError -32000 where there is no such filter */
  logs(id: string): object {
    const { logs, timer } = this.#find(id)
    timer.refresh()
    if (logs === undefined) throw noFilter()
    return logs
  }

  /** False where there is no such filter. */
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
    if (filter.length > MOST_WAITING || this.#length > MOST_WAITING_OF_ALL) this.end(id)
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

/** In geth's words. */
function noFilter(): RpcError {
  return new RpcError(ErrorCode.serverError, 'filter not found')
}
