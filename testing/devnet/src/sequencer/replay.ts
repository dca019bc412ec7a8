import { setTimeout as sleep } from 'node:timers/promises'
import type { FlashblockMessage } from './flashblock-message.js'
import { startStreamServer } from './stream-server.js'

/**
 * Replays a recorded stream to connected clients, one message every `intervalMs`.
 * @returns the stream's URL, and a promise that resolves when everything has been sent
 */
export async function replayStream(options: {
  messages: readonly FlashblockMessage[]
  port?: number
  intervalMs?: number
  encoding?: 'json' | 'brotli'
}): Promise<{ url: string; done: Promise<void>; stop(): Promise<void> }> {
  const server = await startStreamServer({ port: options.port ?? 0, encoding: options.encoding ?? 'json' })
  let stopped = false
  const done = (async () => {
    for (const message of options.messages) {
      if (stopped) return
      server.send(JSON.stringify(message))
      await sleep(options.intervalMs ?? 200)
    }
  })()
  return {
    url: server.url,
    done,
    stop: async () => {
      stopped = true
      await done
      await server.stop()
    },
  }
}
