import { type Hex, hexToBigInt } from 'viem'
import { type Disturbance, TimeLine } from './time-line.js'

/** A head or a flashblock, as shown on the page. */
export interface Sight {
  what: string
  block: string
  gasUsed: number
  hash: Hex
  /** What went wrong since the previous one. */
  disturbance: Disturbance | undefined
}

interface Watcher {
  onSight(sight: Sight): void
  onConnection(state: 'following' | 'lost'): void
  /** The gateway follows a Flashblocks stream. */
  onFlashblocks(): void
  /** The connection was lost. Missed events are sent again if the gateway still has them. */
  onLost(): void
}

interface Header {
  number: Hex
  hash: Hex
  parentHash: Hex
  gasUsed: Hex
  flashblock?: number
  payloadId?: Hex
}

interface Message {
  id?: number
  result?: string
  error?: { message: string }
  params?: { result: Header }
}

/** The index is the id of the subscribing request. */
const SUBSCRIPTIONS = ['newHeads', 'newFlashblocks']
const RECONNECT_MS = 2_000

/** Subscribes to heads and flashblocks until the page is closed, and again after each lost connection. */
export function follow(url: string, { onSight, onConnection, onFlashblocks, onLost }: Watcher): void {
  const line = new TimeLine()
  /** The last event of each subscription, by the id of its request. */
  const last: (Header | undefined)[] = []
  let socket: WebSocket
  const connect = () => {
    socket = new WebSocket(url)
    socket.onopen = () => {
      onConnection('following')
      for (const id of SUBSCRIPTIONS.keys()) subscribe(id)
    }
    socket.onmessage = ({ data }) => {
      const { id, result, error, params } = JSON.parse(data) as Message
      if (id !== undefined && error !== undefined && last[id] !== undefined) {
        // The gateway no longer has the events since then: they are missing here.
        last[id] = undefined
        line.interrupt()
        subscribe(id)
      }
      const hasFlashblocks = id !== undefined && SUBSCRIPTIONS[id] === 'newFlashblocks' && result !== undefined
      if (hasFlashblocks) onFlashblocks()
      if (params === undefined) return
      const { result: header } = params
      last[header.flashblock === undefined ? 0 : 1] = header
      onSight(sightOf(header, line))
    }
    socket.onclose = () => {
      onConnection('lost')
      onLost()
      setTimeout(connect, RECONNECT_MS)
    }
  }
  const subscribe = (id: number) => {
    const seen = last[id]
    const { number, hash, payloadId, flashblock } = seen ?? {}
    const params = [SUBSCRIPTIONS[id], ...(seen ? [{ resume: { number, hash, payloadId, flashblock } }] : [])]
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }))
  }
  connect()
}

function sightOf(header: Header, line: TimeLine): Sight {
  const { number, hash, gasUsed, flashblock } = header
  return {
    what: flashblock === undefined ? 'head' : `flashblock ${flashblock}`,
    block: hexToBigInt(number).toString(),
    gasUsed: Number(gasUsed),
    hash,
    disturbance: line.note({ ...header, number: hexToBigInt(number) }),
  }
}
