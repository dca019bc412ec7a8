// Chain and gateway on the oldest Node and on the newest: `npm run test:node` tries more.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageFolders, root } from '../install.mjs'
import { NODE_ENDS, nodeAt } from '../node-ends.mjs'

const rangeOf = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')).engines?.node

it('is one range, which begins with the oldest that is tried', () => {
  const ranges = ['.', ...packageFolders()].flatMap((folder) => rangeOf(folder) ?? [])
  expect(new Set(ranges)).toEqual(new Set([`>=${NODE_ENDS[0].replace(/\.0$/, '')}`]))
})

/** @returns the URL that a service says it listens on, and its end */
async function start(program, args, env) {
  const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', () => {
      const found = /listen(?:s|ing) on (http:\/\/[^\s",]+)/.exec(output)
      if (found) resolve(found[1])
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
    `simulates on Node ${version}${missing === undefined ? '' : ` (skipped: ${missing})`}`,
    async () => {
      const devnet = await start(program, [join(root, 'testing/devnet/dist/main.js')], { DEVNET_PORT: '0' })
      try {
        const gateway = await start(program, [join(root, 'apps/simulator-gateway/dist/main.js')], {
          GATEWAY_PORT: '0',
          UPSTREAM_RPC_URL: devnet.url,
        })
        try {
          const body = JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'eth_simulateV1',
            params: [{ blockStateCalls: [{ calls: [{ to: `0x${'b0'.repeat(20)}` }] }] }],
          })
          const response = await fetch(gateway.url, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          })
          expect((await response.json()).result[0].calls).toMatchObject([{ status: '0x1', gasUsed: '0x5208' }])
        } finally {
          await gateway.stop()
        }
      } finally {
        await devnet.stop()
      }
    },
    60_000,
  )
}
