import { type Hex, hexToBigInt } from 'viem'

/** A head or a flashblock, as a line of the page. */
export interface Sight {
  id: number
  what: string
  block: string
  gasUsed: string
  hash: Hex
}

interface Watcher {
  onSight(sight: Sight): void
  onStatus(status: string): void
}

interface Header {
  number: Hex
  hash: Hex
  gasUsed: Hex
  flashblock?: number
}

interface Message {
  id?: number
  result?: string
  params?: { result: Header }
}

/** By the id of the request that subscribes. */
const SUBSCRIPTIONS = ['newHeads', 'newFlashblocks']
const RECONNECT_MS = 2_000

let lastId = 0

/** Subscribes to heads and flashblocks, again after each lost connection. @returns what ends it */
export function follow(url: string, { onSight, onStatus }: Watcher): () => void {
  let isOver = false
  let socket: WebSocket
  let retry: ReturnType<typeof setTimeout> | undefined
  const connect = () => {
    socket = new WebSocket(url)
    socket.onopen = () => {
      onStatus('Following the heads')
      for (const [id, kind] of SUBSCRIPTIONS.entries())
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: [kind] }))
    }
    socket.onmessage = ({ data }) => {
      const { id, result, params } = JSON.parse(data) as Message
      const hasFlashblocks = id !== undefined && SUBSCRIPTIONS[id] === 'newFlashblocks' && result !== undefined
      if (hasFlashblocks) onStatus('Following the heads and the flashblocks')
      if (params !== undefined) onSight(sightOf(params.result))
    }
    socket.onclose = () => {
      if (isOver) return
      onStatus('The connection is lost: trying again')
      retry = setTimeout(connect, RECONNECT_MS)
    }
  }
  connect()
  return () => {
    isOver = true
    clearTimeout(retry)
    socket.close()
  }
}

function sightOf({ number, hash, gasUsed, flashblock }: Header): Sight {
  lastId += 1
  return {
    id: lastId,
    what: flashblock === undefined ? 'head' : `flashblock ${flashblock}`,
    block: hexToBigInt(number).toString(),
    gasUsed: hexToBigInt(gasUsed).toLocaleString('en'),
    hash,
  }
}
