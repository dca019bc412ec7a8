import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  answerOf,
  developmentState,
  differences,
  differencesFromNode,
  findGeth,
  type Geth,
  HALT_REQUESTS,
  HANDMADE_REQUESTS,
  inOurWords,
  LOG_REQUESTS,
  RandomRequest,
  startGeth,
} from '@upfront/engine-conformance'
import { ErrorCode } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { BUILDS } from './builds.js'
import { minimize } from './differential/minimize.js'

// `npm run fuzz` runs this file on other seeds.
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)
const SEEDS = Number(process.env.FUZZ_SEEDS ?? 27)
const MAX_FOUND = 5

const REGRESSIONS = fileURLToPath(new URL('./regressions', import.meta.url))

describe('eth_simulateV1: the builds and geth give the same answer', () => {
  let engines: Engine[]
  let geth: Geth | undefined

  beforeAll(async () => {
    engines = BUILDS.map(([, create]) => create())
    const binary = findGeth()
    if (binary !== undefined) geth = await startGeth(binary)
    else console.log('geth is not installed: the builds are compared with each other alone')
  })

  afterAll(() => Promise.all([...engines.map((engine) => engine.close()), geth?.stop()]))

  async function difference(payload: object): Promise<string | undefined> {
    const params = [payload, 'latest']
    const baseState = geth?.baseState ?? developmentState()
    const [reference, ours, ...others] = await Promise.all([
      geth?.call('eth_simulateV1', params),
      ...engines.map((engine) => answerOf(engine, params, () => baseState)),
    ])
    if (ours === undefined) throw new Error('no build is here')
    // geth's decoder has its own messages for malformed requests.
    if (ours.error?.code === ErrorCode.invalidParams) {
      const taken = reference?.error === undefined && reference !== undefined
      return taken ? `ours or geth at .error: ${JSON.stringify(ours.error)} or none` : undefined
    }
    const [between] = others.flatMap((other) => differences(other, ours))
    if (between !== undefined) return `one build or the other at ${between}`
    const [fromGeth] = reference === undefined ? [] : differencesFromNode(inOurWords(reference, ours), ours)
    return fromGeth === undefined ? undefined : `geth or ours at ${fromGeth}`
  }

  it.each(readdirSync(REGRESSIONS))('to the former regression %s', async (name) => {
    const { payload } = JSON.parse(readFileSync(`${REGRESSIONS}/${name}`, 'utf8'))
    expect(await difference(payload)).toBeUndefined()
  })

  it.each(Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS, ...HALT_REQUESTS }))(
    'to the handwritten request: %s',
    async (_name, payload) => {
      expect(await difference(payload)).toBeUndefined()
    },
  )

  it(`to random requests, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    const found: string[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && found.length < MAX_FOUND; seed++) {
      const payload = new RandomRequest(seed).payload()
      // A failing engine, or one that takes a minute, is no difference to minimize.
      const what = await difference(payload).catch((error: unknown) => {
        throw new Error(`seed ${seed}`, { cause: error })
      })
      if (what === undefined) continue
      const kind = kindOf(what)
      const small = await minimize(payload, async (smaller) => {
        const still = await difference(smaller)
        return still !== undefined && kindOf(still) === kind
      })
      found.push(`seed ${seed}: ${what}`)
      keep({ difference: await difference(small), seed, payload: small })
    }
    expect(found).toEqual([])
  }, 3_600_000)
})

/** The place of a difference in the answers, without positions in the request. */
function kindOf(difference: string): string {
  return difference.slice(0, difference.indexOf(': ')).replace(/\d+/g, '#')
}

function keep(regression: { payload: object; [key: string]: unknown }): void {
  mkdirSync(REGRESSIONS, { recursive: true })
  const name = createHash('sha256').update(JSON.stringify(regression.payload)).digest('hex').slice(0, 12)
  writeFileSync(`${REGRESSIONS}/${name}.json`, `${JSON.stringify(regression, null, 2)}\n`)
}
