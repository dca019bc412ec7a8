import { once } from 'node:events'
import WebSocket from 'ws'

export interface Message {
  id?: number
  result?: unknown
  error?: { code: number; message: string }
  params?: { subscription: string; result: Record<string, unknown> }
}

/** A client that keeps every message it has received. */
export async function connect(url: string, options: WebSocket.ClientOptions = {}) {
  const socket = new WebSocket(url.replace('http', 'ws'), options)
  const messages: Message[] = []
  let wake = () => {}
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)))
    wake()
  })
  await once(socket, 'open')
  const until = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  let id = 0
  return {
    socket,
    messages,
    async call(method: string, params: unknown = []): Promise<Message> {
      const own = ++id
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: own, method, params }))
      return until(() => messages.find((message) => message.id === own))
    },
    notifications: (subscription: unknown, count: number) =>
      until(() => {
        const found = messages.filter(({ params }) => params?.subscription === subscription)
        return found.length >= count ? found.map(({ params }) => params!.result) : undefined
      }),
  }
}
