import { startAnvil } from '@upfront/devnet'
import type { Server } from './server.js'

/** An anvil fork of the given node, without a disk cache. */
export async function startAnvilFork(upstream: string): Promise<Server> {
  const quiet = ['--silent', '--no-storage-caching', '--no-rate-limit', '--no-request-size-limit']
  const args = ['--port', '0', '--fork-url', upstream, ...quiet.slice(1), '--timeout', '120000']
  const anvil = await startAnvil(args)
  return { name: 'anvil', url: anvil.rpcUrl, pid: anvil.pid, stop: anvil.stop }
}

/** An anvil with its own chain, as the node if geth is not available. */
export async function startAnvilNode(): Promise<Server> {
  const anvil = await startAnvil(['--port', '0', '--gas-limit', '60000000', '--no-request-size-limit'])
  return { name: 'anvil (node)', url: anvil.rpcUrl, pid: anvil.pid, stop: anvil.stop }
}
