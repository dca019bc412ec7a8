import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  builtProgram,
  DEVNET_ROLES,
  type Devnet,
  emptyLedger,
  freePort,
  paymentContractCodes,
  startDevnet,
  USDC_ADDRESS,
} from '@upfront/devnet'
import { type Address, createTestClient, type Hex, http } from 'viem'

export const here = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
export const freeUrl = async () => `http://127.0.0.1:${await freePort()}`
export const portOf = (url: string) => new URL(url).port

/** A local chain, billing on it, and a seller account. */
export interface Stand {
  devnet: Devnet
  /** Settings for our own sellers. */
  billing: { BILLING_URL: string; BILLING_TOKEN: string }
  /** Billing, with the token of the account in its path. */
  facilitatorUrl: string
  /** Starts a program and resolves when the URL `isUp` answers. Returns a function that kills it and its children. */
  start(command: readonly string[], env: Record<string, string>, isUp: string, cwd?: string): Promise<() => void>
  stop(): Promise<void>
}

/**
 * @param options `origins` of the sellers, which the account is made with before billing starts; `asset`: the address of the test USDC,
 * which must exist because billing checks its tokens at start
 */
export async function startStand({
  origins,
  chainId = 31337,
  asset = USDC_ADDRESS,
}: {
  origins: readonly string[]
  chainId?: number
  asset?: Address
}): Promise<Stand> {
  const data = emptyLedger(mkdtempSync(join(tmpdir(), 'stock-sellers-')))
  const running = new Set<ChildProcess>()
  const end = (child: ChildProcess) => {
    running.delete(child)
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const start: Stand['start'] = async ([command = '', ...args], env, isUp, cwd) => {
    // Its own process group: package managers start servers as children.
    const child = spawn(command, args, {
      cwd,
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      detached: true,
    })
    running.add(child)
    let output = ''
    child.stdout.on('data', (text) => (output += text))
    child.stderr.on('data', (text) => (output += text))
    for (;;) {
      const answer = await fetch(isUp).catch(() => null)
      if (answer !== null && answer.status < 500) return () => end(child)
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${command} ended:\n${output}`)
      await Promise.race([once(child, 'exit'), new Promise((resolve) => setTimeout(resolve, 100))])
    }
  }

  const devnet = await startDevnet({ chainId })
  const stop = async () => {
    for (const child of [...running]) end(child)
    await devnet.stop()
    rmSync(data, { recursive: true, force: true })
  }
  try {
    const bytecode = paymentContractCodes(chainId)[USDC_ADDRESS] as Hex
    await createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) }).setCode({ address: asset, bytecode })
    const of = ['--pay-to', DEVNET_ROLES.seller.address, '--origin', origins.join(','), '--per-minute', '1000']
    const env = { ...process.env, DATABASE_URL: '', BILLING_DATA_DIR: data }
    const sellers = here('../../apps/billing/dist/sellers/command.js')
    const { token } = JSON.parse(
      execFileSync(process.execPath, [sellers, 'make', '--name', 'stock', ...of], { env, encoding: 'utf8' }),
    )
    const billingUrl = await freeUrl()
    const billing = { BILLING_URL: billingUrl, BILLING_TOKEN: 'service' }
    const chain = {
      rpcUrl: devnet.rpcUrl,
      tokens: { [asset]: { name: 'USDC', version: '2', decimals: 6 } },
      dailySponsoredGas: '1000000000000000000',
    }
    await start(
      [process.execPath, builtProgram('apps/billing')],
      {
        BILLING_PORT: portOf(billingUrl),
        BILLING_TOKEN: billing.BILLING_TOKEN,
        BILLING_DATA_DIR: data,
        FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators[0].privateKey,
        CHAINS: JSON.stringify({ [`eip155:${chainId}`]: chain }),
        LOG_LEVEL: 'error',
      },
      `${billingUrl}/supported`,
    )
    return { devnet, billing, facilitatorUrl: `${billingUrl}/s/${token}`, start, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
