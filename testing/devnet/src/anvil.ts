import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Milliseconds that anvil gets to exit, and to start listening. */
const STOP_TIMEOUT = 2_000
const START_TIMEOUT = 30_000

/** A running anvil process. */
export interface Anvil {
  rpcUrl: string
  wsUrl: string
  port: number
  pid: number
  /** Resolves when the process has exited, for whatever reason. */
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Stops the process; safe to call twice. */
  stop(): Promise<void>
}

/** Path of the anvil binary that npm installed for this platform. Does not depend on install scripts. */
export function anvilPath(): string {
  const { platform, arch } = process
  const platformPackage = `@foundry-rs/anvil-${platform}-${arch === 'x64' ? 'amd64' : arch}`
  const require = createRequire(import.meta.url)
  try {
    const manifest = createRequire(require.resolve('@foundry-rs/anvil/package.json')).resolve(
      `${platformPackage}/package.json`,
    )
    return join(dirname(manifest), 'bin', platform === 'win32' ? 'anvil.exe' : 'anvil')
  } catch (cause) {
    throw new Error(`anvil has no binary for ${platform}-${arch}: ${platformPackage} is not installed`, { cause })
  }
}

/**
 * Starts anvil with the given command-line arguments (`--port 0` uses a free port).
 * @throws Error with anvil's output, if it exits before it listens, for example because the port is in use
 */
export async function startAnvil(args: readonly string[]): Promise<Anvil> {
  const child = spawn(anvilPath(), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  void exited.then(() => process.off('exit', killNow))

  const address = await listening(child)
  child.stdout.on('data', () => {})
  child.stderr.on('data', () => {})
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const host = address.startsWith('0.0.0.0:') ? `127.0.0.1:${port}` : address
  return {
    rpcUrl: `http://${host}`,
    wsUrl: `ws://${host}`,
    port,
    pid: child.pid as number,
    exited,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(killNow, STOP_TIMEOUT)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Resolves with `host:port` once anvil prints it. */
async function listening(child: ChildProcess): Promise<string> {
  const abort = new AbortController()
  let output = ''
  const address = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += output.length < 64_000 ? chunk.toString() : ''
        const match = /Listening on (\S+)/.exec(output)
        if (match?.[1] !== undefined) resolve(match[1])
      })
  })
  const failed = async (): Promise<never> => {
    await once(child, 'close', { signal: abort.signal })
    const said = output.trim().split('\n').slice(-3).join('\n')
    throw new Error(`anvil ended before it listened: ${said || 'it said nothing'}`)
  }
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`anvil did not listen within ${START_TIMEOUT / 1000} s`))
    }, START_TIMEOUT)
    abort.signal.addEventListener('abort', () => clearTimeout(timer))
  })
  try {
    return await Promise.race([address, failed(), late])
  } finally {
    abort.abort()
  }
}
