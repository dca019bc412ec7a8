// The local stand on the oldest and the newest Node: a free simulation, and one that is paid and settled. `npm run test:node` tests more.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DEVNET_ROLES, emptyLedger, USDC_ADDRESS } from '../../testing/devnet/dist/index.js'
import { packageFolders, root } from '../install.mjs'
import { NODE_ENDS, nodeAt } from '../node-ends.mjs'

const rangeOf = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).engines?.node

it('every package.json has the same Node range, from the oldest tested version', () => {
  const ranges = ['.', ...packageFolders()].flatMap((folder) => rangeOf(folder) ?? [])
  expect(new Set(ranges)).toEqual(new Set([`>=${NODE_ENDS[0].replace(/\.0$/, '')}`]))
})

/** @returns the URL on which a service listens, and a function that stops it */
async function start(program, args, env) {
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', () => {
      const found = /listen(?:s|ing) on (http:\/\/[^\s",]+)|"url":"(http:[^"]+)"[^\n]*listens/.exec(output)
      if (found) resolve(found[1] ?? found[2])
    })
    ended.then(() => reject(new Error(`it ended: ${output}`)))
  })
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { url, stop, output: () => output }
}

for (const version of NODE_ENDS) {
  const { program, missing } = nodeAt(version)
  const itThere = program === undefined ? it.skip : it
  itThere(
    `simulates, is paid and settles on Node ${version}${missing === undefined ? '' : ` (skipped: ${missing})`}`,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'node-end-'))
      const started = []
      async function startService(path, env) {
        const service = await start(program, [join(root, path, 'dist/main.js')], env)
        started.push(service)
        return service.url
      }
      try {
        const chain = await startService('testing/devnet', { DEVNET_PORT: '0' })
        const billing = await startService('apps/billing', {
          BILLING_PORT: '0',
          BILLING_TOKEN: 'token',
          BILLING_DATA_DIR: emptyLedger(join(folder, 'ledger')),
          FACILITATOR_PRIVATE_KEYS: DEVNET_ROLES.facilitators[0].privateKey,
          CHAINS: JSON.stringify({
            'eip155:31337': {
              rpcUrl: chain,
              confirmations: 1,
              dailySponsoredGas: String(10n ** 17n),
              tokens: { [USDC_ADDRESS]: { name: 'USDC', version: '2', decimals: 6 } },
            },
          }),
        })
        const gateway = await startService('apps/simulator-gateway', {
          GATEWAY_PORT: '0',
          UPSTREAM_RPC_URL: chain,
          BILLING_URL: billing,
          BILLING_TOKEN: 'token',
          NETWORK: 'eip155:31337',
          ASSET: USDC_ADDRESS,
          PAY_TO: DEVNET_ROLES.seller.address,
          RECEIPT_KEYS_FILE: join(root, 'infra/local-receipt-keys.json'),
        })
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'eth_simulateV1',
          params: [{ blockStateCalls: [{ calls: [{ to: `0x${'b0'.repeat(20)}` }] }] }],
        })
        const response = await fetch(gateway, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
        expect((await response.json()).result[0].calls).toMatchObject([{ status: '0x1', gasUsed: '0x5208' }])
        const { stdout } = await promisify(execFile)(program, [join(root, 'examples/paying-buyer/dist/main.js')], {
          cwd: folder,
          env: { PATH: process.env.PATH, GATEWAY_URL: gateway, CHAIN_RPC_URL: chain },
        })
        expect(stdout).toMatch(/Charged[\s\S]*The bill is right\./)
      } finally {
        for (const service of started.reverse()) await service.stop()
        rmSync(folder, { recursive: true, force: true })
      }
    },
    120_000,
  )
}
