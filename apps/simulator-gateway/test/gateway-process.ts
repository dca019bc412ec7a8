import childProcess, { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtProgram } from '@upfront/devnet'
import type { FIXED } from '../src/environment/fixed.js'
import type { Limits } from '../src/environment/limits.js'

const fixedUrl = new URL('../dist/environment/fixed.js', import.meta.url).href

export interface RpcReply<T> {
  result?: T
  error?: { code: number; message: string; data?: unknown }
}

export interface GatewayProcess {
  url: string
  process: ChildProcess
  /** All output so far. */
  output(): string
  /** Calls a method at `POST /`. */
  call<T = unknown>(method: string, params?: unknown): Promise<RpcReply<T>>
  /** Sends a body as is to `POST /`. */
  post(body: string, headers?: Record<string, string>): Promise<Response>
  /** The value of a sample on `/metrics`. */
  metric(name: string): Promise<number>
  /** Resolves once this many requests are in flight. */
  inFlight(count: number): Promise<void>
  stop(): Promise<void>
}

/** Variables by name; `LIMITS` as an object. */
export type Variables = Record<string, string | Partial<Limits>>

/**
 * Starts the built gateway as a deployment does, on a free port, and resolves once it listens. The rate limit is off unless
 * `environment` sets one.
 * @param fixed constants to shorten for a test
 */
export async function startGatewayProcess(
  environment: Variables,
  fixed: Partial<typeof FIXED> = {},
): Promise<GatewayProcess> {
  const { child, output } = spawnGateway(written(environment), { fixed })
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const match = /listens on (http:\/\/\S+)/.exec(output())
      if (match?.[1] !== undefined) resolve(match[1])
    })
    child.once('close', (code) => reject(new Error(`the gateway ended with ${code}: ${output()}`)))
  })
  return asked(url, child, output, async () => {
    if (hasEnded(child)) return
    child.kill('SIGTERM')
    await once(child, 'close')
  })
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

/** Variables as a process takes them. */
function written({ LIMITS, ...environment }: Variables): Record<string, string> {
  const limits = JSON.stringify({ callsPerSecond: 0, ...(LIMITS as object) })
  return { ...(environment as Record<string, string>), LIMITS: limits }
}

function asked(url: string, child: ChildProcess, output: () => string, stop: () => Promise<void>): GatewayProcess {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
  const metric = async (name: string) => {
    const text = await (await fetch(`${url}/metrics`)).text()
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
    return Number(line?.slice(name.length + 1))
  }
  return {
    url,
    process: child,
    output,
    post,
    async call<T>(method: string, params: unknown = []) {
      const response = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
      return (await response.json()) as RpcReply<T>
    },
    metric,
    async inFlight(count) {
      while ((await metric('upfront_requests_in_flight')) !== count)
        await new Promise((resolve) => setTimeout(resolve, 20))
    },
    stop,
  }
}

/** A process that runs gateways, and its log file. */
interface GatewayHost {
  child: ChildProcess
  log: number
  asked: number
}

/** State that survives between the test files of a jest worker: of a file's modules, only Node's own are shared with the next. */
const kept = childProcess as typeof childProcess & { gatewayHost?: GatewayHost }
const shared = new Set<GatewayProcess>()
afterAll(() => Promise.all([...shared].map((gateway) => gateway.stop())))

/**
 * Starts the built gateway in a process shared by all files of a jest worker, because a process of its own takes a CPU-second.
 * For tests that do not test the process. `output` covers all gateways since this one started; `process` is the shared one.
 */
export async function startGateway(environment: Variables): Promise<GatewayProcess> {
  if (kept.gatewayHost === undefined || hasEnded(kept.gatewayHost.child)) kept.gatewayHost = startHost()
  const host = kept.gatewayHost
  const { child, log } = host
  const from = fstatSync(log).size
  const output = () => {
    const text = Buffer.alloc(fstatSync(log).size - from)
    readSync(log, text, 0, text.length, from)
    return text.toString()
  }
  const tell = (message: { id: number; environment?: Record<string, string> }) =>
    new Promise<string>((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`the gateways ended with ${code}: ${output()}`))
      const hear = ({ id, url, error }: { id: number; url?: string; error?: string }) => {
        if (id !== message.id) return
        child.off('message', hear).off('close', ended)
        if (error === undefined) resolve(url ?? '')
        else reject(new Error(error))
      }
      child.on('message', hear).once('close', ended).send(message)
    })
  const id = ++host.asked
  const url = await tell({ id, environment: { GATEWAY_PORT: '0', ...written(environment) } })
  let stopped: Promise<unknown> | undefined
  const gateway = asked(url, child, output, async () => {
    shared.delete(gateway)
    if (hasEnded(child)) return
    stopped ??= tell({ id })
    await stopped
  })
  shared.add(gateway)
  return gateway
}

function startHost(): GatewayHost {
  const { PATH = '', HOME = '' } = process.env
  const script = process.env.BUNDLED === undefined ? './gateway-host.mjs' : '../dist/gateway-host.js'
  const folder = mkdtempSync(join(tmpdir(), 'gateway-host-'))
  const log = openSync(join(folder, 'log'), 'a+')
  rmSync(folder, { recursive: true })
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
    env: { PATH, HOME },
    execArgv: [],
    stdio: ['ignore', log, log, 'ipc'],
  })
  // It ends with the worker.
  child.unref()
  child.channel?.unref()
  return { child, log, asked: 0 }
}

/** Spawns the built gateway with this environment and none of our own variables. */
export function spawnGateway(
  environment: Record<string, string>,
  { options = [], fixed = {} }: { options?: string[]; fixed?: Partial<typeof FIXED> } = {},
): { child: ChildProcess; output(): string } {
  const { PATH = '', HOME = '' } = process.env
  const changed = `import { FIXED } from ${JSON.stringify(fixedUrl)}; Object.assign(FIXED, ${JSON.stringify(fixed)})`
  const before =
    Object.keys(fixed).length === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(changed)}`]
  const child = spawn(process.execPath, [...before, builtProgram('apps/simulator-gateway'), ...options], {
    env: { PATH, HOME, GATEWAY_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
  return { child, output: () => text }
}
