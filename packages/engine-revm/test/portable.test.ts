import { readFileSync } from 'node:fs'
import {
  callPlan,
  codePlan,
  developmentState,
  drive,
  ENDLESS_LOOP,
  NEVER,
  NOBODY,
  RICH,
  withoutGasLimit,
} from '@upfront/engine-conformance'
import { ZERO_HASH } from '@upfront/protocol'
import type { StatePoint } from '@upfront/simulation'
import { SECTION, sourcesHash } from '../portable-sources.mjs'
import { createPortableEngine, portableModule, type RevmEngine } from '../src/index.js'
import { PortableInstance } from '../src/portable/instance.js'

const module = portableModule() as WebAssembly.Module
const at: StatePoint = { key: `0x${'77'.repeat(32)}`, layers: [] }
const transfer = callPlan({ from: RICH, to: NOBODY, value: '0x5' })
const endless = withoutGasLimit(codePlan(ENDLESS_LOOP))
/** MSTORE at 0, 1 MiB, 2 MiB, … endlessly. */
const hungry = withoutGasLimit(codePlan('0x5f5b8080526210000001600156'))

let engine: RevmEngine
afterEach(() => engine?.close())

const run = (plan: typeof transfer, signal = NEVER.signal) =>
  drive((async () => engine.begin(plan, at, { signal }))(), developmentState().state)

it('portable.wasm is built from the present sources (else run `npm run build:portable`)', () => {
  const [section] = WebAssembly.Module.customSections(module, SECTION)
  expect(Buffer.from(section!).toString()).toBe(sourcesHash())
})

it('portable.wasm contains no path of the machine that built it', () => {
  const bytes = readFileSync(new URL('../portable.wasm', import.meta.url), 'latin1')
  expect(bytes).not.toMatch(/\/(home|root|Users|work)\//)
})

it('ends the worker of a cancelled simulation, and no other', async () => {
  engine = createPortableEngine({ threads: 2 })
  const [first, second] = [new AbortController(), new AbortController()]
  const running = [run(endless, first.signal), run(endless, second.signal)]
  const ends = running.map((one) => one.catch(({ message }: Error) => message))
  const whileBusy = run(endless, AbortSignal.timeout(60_000)).catch(({ message }: Error) => message)
  first.abort(new Error('enough'))
  expect(await ends[0]).toBe('enough')
  // A replacement worker runs what waits; in the meantime the event loop answers small requests.
  expect(await run(transfer)).toMatchObject({ failures: [] })
  second.abort(new Error('enough of this too'))
  expect(await ends[1]).toBe('enough of this too')
  await engine.close()
  expect(await whileBusy).toMatch('closed')
})

it.each([
  ['take long', ENDLESS_LOOP],
  // MSTORE at 48 MiB, then a loop.
  ['take much memory', '0x5f6303000000525b600756'],
] as const)('completes short simulations while others run that %s', async (_, code) => {
  engine = createPortableEngine({ threads: 2, memoryBytes: 32 * 1024 * 1024 })
  const gone = new AbortController()
  const ends = Array.from({ length: 4 }, () =>
    run(withoutGasLimit(codePlan(code)), gone.signal).catch(({ message }: Error) => message),
  )
  // More than the event loop runs at once: some 25 ms.
  const plan = codePlan(ENDLESS_LOOP)
  plan.blocks[0]!.calls[0]!.gas = 6_000_000n
  for (let count = 0; count < 3; count++)
    expect(await run(plan)).toMatchObject({ failures: [{ failure: { kind: 'halt' } }] })
  gone.abort(new Error('enough'))
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['enough']))
})

it('refuses a simulation that needs more memory than allowed, and runs the next one', async () => {
  engine = createPortableEngine({ threads: 1, memoryBytes: 64 * 1024 * 1024 })
  await expect(run(hungry)).rejects.toMatchObject({ code: -32005, message: expect.stringContaining('more memory') })
  expect(await run(transfer)).toMatchObject({ failures: [] })
})

describe('PortableInstance', () => {
  const instance = new PortableInstance(module, 64 * 1024 * 1024)

  it.each(['', 'nonsense\n', 'begin\n1\n', `holds\n0x12\n`, 'known\n0x\n-\n', 'provide\n', 'layer\n1\nfffffff\n'])(
    'refuses the malformed question %j, and answers the next one',
    (question) => {
      expect(() => instance.ask(question)).toThrow(expect.objectContaining({ code: 'MALFORMED' }))
      expect(instance.ask(`holds\n${ZERO_HASH}\n`).text).toBe('0')
    },
  )
})
