#!/usr/bin/env node
// Sends every request of requests.json to a real geth on genesis.json and writes cases.json and head.json.
//   node record.mjs path/to/geth
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const geth = process.argv[2] ?? 'geth'
const here = import.meta.dirname
const directory = mkdtempSync(join(tmpdir(), 'record-'))
const port = await new Promise((resolve) => {
  const server = createServer().listen(0, () => {
    const { port } = server.address()
    server.close(() => resolve(port))
  })
})
execFileSync(geth, ['--datadir', directory, 'init', join(here, 'genesis.json')], { stdio: 'ignore' })
const quiet = ['--nodiscover', '--maxpeers', '0', '--ipcdisable', '--authrpc.port', '0', '--port', '0']
const node = spawn(geth, ['--datadir', directory, ...quiet, '--http', '--http.port', String(port)], { stdio: 'ignore' })
const call = async (method, params) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  const { jsonrpc, id, ...answer } = await (
    await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body })
  ).json()
  return answer
}
try {
  let head
  for (let attempt = 0; head === undefined; attempt++) {
    head = await call('eth_getBlockByNumber', ['latest', false]).catch((error) => {
      if (attempt > 100) throw error
      return new Promise((resolve) => setTimeout(resolve, 100))
    })
  }
  writeFileSync(join(here, 'head.json'), `${JSON.stringify(head.result, null, 2)}\n`)
  const requests = JSON.parse(readFileSync(join(here, 'requests.json'), 'utf8'))
  const cases = []
  for (const [name, params] of Object.entries(requests))
    cases.push({ name, params, answer: await call('eth_simulateV1', params) })
  writeFileSync(join(here, 'cases.json'), `${JSON.stringify(cases, null, 2)}\n`)
  for (const { name, answer } of cases) console.log(name, answer.error ?? `${answer.result.length} blocks`)
} finally {
  node.kill()
  await once(node, 'close')
  rmSync(directory, { recursive: true, force: true })
}
