import { recordedBlock } from '@upfront/devnet'
import { drive } from '@upfront/engine-conformance'
import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, RpcError } from '@upfront/protocol'
import { inspect, knownChainRules, ReadBudget, sealedBlockFromRpc } from '@upfront/simulation'
import { createRevmEngine, createPortableEngine } from './dist/index.js'
import { ZERO_HASH } from '@upfront/protocol'
import { writeFileSync } from 'node:fs'
const RECORDED = ['zkpi-22188088', 'pevm-19929064', 'pevm-18085863', 'pevm-16257471', 'konab-26207962']
const NONE = { stateDiff: false, accessLists: false, assetChanges: false, gasLimits: false }
const values = ({ state, blockHashes }) => (read) => {
  switch (read.kind) { case 'balance': case 'nonce': return BigInt(state[read.kind](read.address)); case 'code': return state.code(read.address)
    case 'storage': return state.storage(read.address, read.slot); case 'blockHash': return blockHashes[String(read.number)] ?? ZERO_HASH } }
export function recorded(name) {
  const r = recordedBlock(`${name}.json.br`); const { chainId, parent, block } = r
  const rules = knownChainRules(BigInt(chainId)); const base = sealedBlockFromRpc(parent).header; const { timestamp } = sealedBlockFromRpc(block).header
  const engine = createRevmEngine({ threads: 1 }); const { signal } = new AbortController(); const value = values(r)
  const stats = { runs: 0 }
  const ask = (calls, inspection) => {
    const params = [{ blockStateCalls: [{ blockOverrides: { time: `0x${timestamp.toString(16)}` }, calls }] }, 'latest']
    const sim = { request: decodeSimulationRequest(params, DEFAULT_SIMULATION_LIMITS), base, state: { block: { header: base, key: base.hash }, key: base.hash, layers: [] }, rules,
      driver: { simulate: (plan, point) => { stats.runs++; const step = engine.begin(plan, point, { signal }); return step.kind === 'done' ? step.outcome : drive(step, { read: (reads) => reads.map(value) }) } },
      limits: DEFAULT_SIMULATION_LIMITS, budget: new ReadBudget(Infinity, Infinity), cancellation: { signal }, dialect: 'ethereum' }
    return inspect(sim, inspection && { ...NONE, ...inspection })
  }
  return { txs: block.transactions.filter(({ type }) => type !== '0x7e'), ask, stats, close: () => engine.close() }
}
const mode = process.argv[2]
if (mode === 'dump') {
  const out = {}
  for (const name of RECORDED) { const { txs, ask, close } = recorded(name)
    for (const withGas of [false, true]) for (const { hash, from, to, input, value, gas } of txs) {
      const call = { from, ...(to && { to }), input, value, ...(withGas && { gas }) }
      try { const a = await ask([call], { outcome: true }); const [b] = JSON.parse(a.json.toString()); out[`${hash} ${withGas}`] = { o: b.calls[0].outcome, s: b.calls[0].status, f: String(a.furtherGas) } }
      catch (e) { if (!(e instanceof RpcError)) throw e; out[`${hash} ${withGas}`] = e.message } }
    await close() }
  writeFileSync(process.argv[3], JSON.stringify(out, null, 1)); console.log(Object.keys(out).length)
} else {
  const name = process.argv[3] ?? RECORDED[0]; const { txs, ask, stats, close } = recorded(name)
  const most = Number(process.argv[5] ?? 300000)
  const good = []
  for (const { from, to, input, value, gas } of txs) { const call = { from, ...(to && { to }), input, value }
    try { const a = await ask([call], undefined); if (a.gasUsed > 21000n && Number(a.gasUsed) < most) { for (let i = 0; i < 2; i++) await ask([call], { outcome: true }); good.push(call) } } catch {} }
  console.log(good.length, 'calls')
  const kinds = { plain: undefined, depends: { depends: true }, outcome: { outcome: true } }
  const rounds = Number(process.argv[4] ?? 12); const t = { plain: [], depends: [], outcome: [] }
  for (let r = 0; r < 3 * rounds; r++) for (const k of (process.env.KINDS ?? 'plain,depends,outcome').split(',')) {
    const runs = stats.runs; const c = (process.threadCpuUsage ?? process.cpuUsage)(); for (const call of good) { const p = ask([call], kinds[k]); if (p instanceof Promise) await p } const d = (process.threadCpuUsage ?? process.cpuUsage)(c)
    if (r >= 2 * rounds) t[k].push((d.user + d.system) / good.length); if (r === 3 * rounds - 1) console.log(k, 'runs/call', (stats.runs - runs) / good.length) }
  const med = (a) => a.sort((x, y) => x - y)[a.length >> 1]
  for (const k of Object.keys(t)) if (!t[k].length) delete t[k]
  console.log(Object.entries(t).map(([k, a]) => `${k} ${med(a).toFixed(1)}µs`).join('  '), 'min', Object.entries(t).map(([k, a]) => `${k} ${a[0].toFixed(1)}`).join('  '))
  await close()
}
