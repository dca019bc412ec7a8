import { type ChildProcess, spawn } from 'node:child_process'

/** A process that serves JSON-RPC over HTTP. */
export interface Server {
  name: string
  url: string
  pid: number
  stop(): Promise<void>
}

const START_TIMEOUT = 60_000

/**
 * Starts a process and waits until its output shows the address that it listens on.
 * @throws Error with the end of its output, if it exits or stays silent
 */
export async function startServer(
  name: string,
  command: string,
  args: readonly string[],
  listening: RegExp,
  env: Record<string, string> = {},
): Promise<Server> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      process.off('exit', killNow)
      resolve()
    })
  })
  const address = await findInOutput(name, child, listening)
  return {
    name,
    url: address.startsWith('http') ? address : `http://${address}`,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(killNow, 5_000)
      await exited
      clearTimeout(timer)
    },
  }
}

function findInOutput(name: string, child: ChildProcess, listening: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string) => {
      child.kill('SIGKILL')
      reject(new Error(`${name} ${why}:\n${output.slice(-2_000)}`))
    }
    const timer = setTimeout(() => fail(`did not listen within ${START_TIMEOUT / 1_000} s`), START_TIMEOUT)
    child.once('error', (error) => fail(error.message))
    child.once('exit', () => {
      clearTimeout(timer)
      fail('ended before it listened')
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-20_000)
        const [, address] = listening.exec(output) ?? []
        if (address === undefined) return
        clearTimeout(timer)
        resolve(address)
      })
  })
}
