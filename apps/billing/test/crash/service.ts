import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtProgram } from '@upfront/devnet'

/** A service in its own process, which can be killed without warning and restarted. */
export class Service {
  private child: ChildProcess | null = null

  constructor(
    readonly url: string,
    private readonly program: string,
    private readonly readyPath: string,
    private readonly environment: NodeJS.ProcessEnv,
  ) {}

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const verbose = process.env.TEST_LOG_LEVEL !== undefined
    const child = spawn(process.execPath, [builtProgram(this.program)], {
      env: { PATH: process.env.PATH, ...this.environment },
      stdio: ['ignore', verbose ? 'inherit' : 'ignore', verbose ? 'inherit' : 'ignore'],
    })
    this.child = child
    for (let attempt = 0; attempt < 6_000; attempt++) {
      if (child.exitCode !== null) throw new Error(`${this.program} ended with ${child.exitCode}`)
      const status = await fetch(`${this.url}${this.readyPath}`).then(
        (response) => response.status,
        () => 0,
      )
      if (status !== 0) return
      await sleep(50)
    }
    throw new Error(`${this.program} does not answer`)
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const child = this.child
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
}
