import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const START_TIMEOUT_MS = 90_000

/** A service in its own process, as in a deployment. It can be killed without warning and started again with the same environment. */
export class ServiceProcess {
  #child: ChildProcess | undefined
  /** Of all its processes so far. */
  #output = ''
  readonly url: string
  readonly #program: string
  readonly #readyPath: string
  readonly #environment: Readonly<Record<string, string | undefined>>

  /**
   * @param program path of its main file
   * @param readyPath answers with 2xx once the service is ready
   */
  constructor(
    url: string,
    program: string,
    readyPath: string,
    environment: Readonly<Record<string, string | undefined>>,
  ) {
    this.url = url
    this.#program = program
    this.#readyPath = readyPath
    this.#environment = environment
  }

  get output(): string {
    return this.#output
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves when the service is ready. @throws Error with its output, if it ends or takes too long */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#program], { env: { PATH: process.env.PATH, ...this.#environment } })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (this.#output += data))
    for (const deadline = Date.now() + START_TIMEOUT_MS; ; await sleep(50)) {
      const answer = await fetch(`${this.url}${this.#readyPath}`).catch(() => undefined)
      if (answer?.ok) return
      if (this.isRunning && Date.now() < deadline) continue
      await this.kill()
      throw new Error(`${this.#program} did not start:\n${this.#output}`)
    }
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child === undefined || !this.isRunning) return
    const closed = once(this.#child, 'close')
    this.#child.kill(signal)
    await closed
  }
}
