import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createEthereumJsEngine } from '@upfront/engine-ethereumjs'
import { ErrorCode } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { readGenesis } from '../../engine-ethereumjs/test/genesis-state.js'
import { findGeth, type Geth, startGeth } from '../../engine-ethereumjs/test/geth.js'
import { RandomRequest } from '../../engine-ethereumjs/test/random-request.js'
import { createRevmEngine, loadRevm } from '../src/index.js'
import { type Answer, answerOf, type Ground, groundOf } from './differential/answer.js'
import { differenceFromGeth, differenceOf } from './differential/difference.js'
import { minimize } from './differential/minimize.js'

// `npm run fuzz -- --minutes N` runs this file for longer, from a seed of its own.
const MINUTES = Number(process.env.FUZZ_MINUTES ?? 0)
const SECONDS = MINUTES > 0 ? MINUTES * 60 : 12
const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 1)

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const GENESIS = here('../../engine-ethereumjs/test/genesis.json')
const GENESIS_BLOCK = here('./differential/genesis-block.json')
const REGRESSIONS = here('./regressions')

const available = loadRevm()
if (available.addon === undefined) console.log(`the differential test is skipped: ${available.reason}`)
const describeIf = available.addon === undefined ? describe.skip : describe

describeIf('revm, EthereumJS and geth answer alike', () => {
  let revm: Engine
  let portable: Engine
  let geth: Geth | undefined
  let ground: Ground
  let gethGround: Ground

  beforeAll(async () => {
    revm = createRevmEngine()
    portable = createEthereumJsEngine()
    const binary = findGeth()
    if (binary !== undefined) geth = await startGeth(binary, GENESIS)
    else console.log('geth is not installed: the two engines are compared with each other alone')
    const genesis = readGenesis(GENESIS)
    ground = groundOf(genesis, JSON.parse(readFileSync(GENESIS_BLOCK, 'utf8')))
    const { result } = (await geth?.call('eth_getBlockByNumber', ['latest', false])) ?? {}
    gethGround = result === undefined ? ground : groundOf(genesis, result)
  }, 60_000)
  afterAll(() => Promise.all([revm.close(), portable.close(), geth?.stop()]))

  async function difference(payload: object): Promise<string | undefined> {
    const [ours, theirs, reference] = await Promise.all([
      answerOf(revm, payload, gethGround),
      answerOf(portable, payload, gethGround),
      geth?.call('eth_simulateV1', [payload, 'latest']),
    ])
    // Where the request itself is refused, geth's decoder has words of its own.
    if (ours.error?.code === ErrorCode.invalidParams) {
      const taken = reference?.error === undefined && reference !== undefined
      return taken ? `revm or geth at .error: ${JSON.stringify(ours.error)} or none` : undefined
    }
    const engines = differenceOf(ours, theirs)
    if (engines !== undefined) return `revm or EthereumJS at ${engines}`
    if (reference === undefined) return undefined
    const { result, error } = reference as Answer
    const answer = {
      ...(result !== undefined && { result }),
      ...(error && { error: { code: error.code, message: error.message } }),
    }
    const fromGeth = differenceFromGeth(ours, answer)
    return fromGeth === undefined ? undefined : `revm or geth at ${fromGeth}`
  }

  const kept = existsSync(REGRESSIONS) ? readdirSync(REGRESSIONS).filter((name) => name.endsWith('.json')) : []
  if (kept.length > 0)
    it.each(kept)('as once it did not: %s', async (name) => {
      const { payload } = JSON.parse(readFileSync(`${REGRESSIONS}/${name}`, 'utf8'))
      expect(await difference(payload)).toBeUndefined()
    })

  it(
    'on requests made at random',
    async () => {
      const end = Date.now() + SECONDS * 1_000
      const found: string[] = []
      let seed = FIRST_SEED
      for (; Date.now() < end && found.length < 5; seed++) {
        const payload = new RandomRequest(seed).payload()
        const what = await difference(payload).catch((error: unknown) => new Error(`seed ${seed}`, { cause: error }))
        if (what === undefined) continue
        // Nothing to compare, nor to make smaller: an engine failed, or took a minute.
        if (what instanceof Error) throw what
        const kind = kindOf(what)
        const small = await minimize(payload, async (smaller) => {
          const still = await difference(smaller)
          return still !== undefined && kindOf(still) === kind
        })
        found.push(`seed ${seed}: ${what}`)
        keep({ difference: await difference(small), seed, payload: small })
      }
      console.log(`${seed - FIRST_SEED} requests from seed ${FIRST_SEED} on`)
      expect(found).toEqual([])
    },
    SECONDS * 1_000 + 120_000,
  )
})

/** Where the answers differ, wherever in the request that is. */
function kindOf(difference: string): string {
  return difference.slice(0, difference.indexOf(': ')).replace(/\d+/g, '#')
}

function keep(regression: { payload: object; [key: string]: unknown }): void {
  mkdirSync(REGRESSIONS, { recursive: true })
  const name = createHash('sha256').update(JSON.stringify(regression.payload)).digest('hex').slice(0, 12)
  writeFileSync(`${REGRESSIONS}/${name}.json`, `${JSON.stringify(regression, null, 2)}\n`)
}
