import {
  amsterdamChain,
  answerOf,
  differencesFromNode,
  findGeth,
  type Geth,
  HALT_REQUESTS,
  HANDMADE_REQUESTS,
  inOurWords,
  LOG_REQUESTS,
  RandomRequest,
  type RpcAnswer,
  startGeth,
} from '@upfront/engine-conformance'
import { ErrorCode } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { BUILDS } from './builds.js'

const FIRST_SEED = Number(process.env.AMSTERDAM_SEED ?? 1)
const SEEDS = Number(process.env.AMSTERDAM_SEEDS ?? 14)
const MAX_FOUND = 5

/** The short form takes every third request for halting calls, different ones per case, and all of Amsterdam's own. */
const IS_LONG = SEEDS > 100
/** geth 1.17.8 lets an account with the last nonce create contracts, against EIP-2681. */
const LAST_NONCES = ['the last nonce', 'a deployment with value at the last nonce']
const HANDMADE = Object.entries({ ...HANDMADE_REQUESTS, ...LOG_REQUESTS, ...HALT_REQUESTS }).filter(
  ([name]) => !LAST_NONCES.includes(name),
)

/**
 * Allowed difference besides messages: the access list has the parent's hash (EIP-2935), which differs for a simulated parent because its
 * state root is unknown.
 */

const binary = findGeth()
if (binary === undefined) console.log('Amsterdam is not compared with geth: geth is not installed')
const describeGeth = binary === undefined ? describe.skip : describe

const CASES: [when: string, amsterdamTime: number][] = [
  ['from the genesis block on', 0],
  ['from a block on that requests come to', 2_100],
]

describeGeth.each(CASES)('Amsterdam %s: eth_simulateV1 answers like geth', (_when, amsterdamTime) => {
  let engines: [build: string, Engine][]
  let geth: Geth
  let answered = 0

  beforeAll(async () => {
    engines = BUILDS.map(([build, create]) => [build, create()])
    geth = await startGeth(binary as string, amsterdamChain(amsterdamTime))
  })

  afterAll(() => Promise.all([...engines.map(([, engine]) => engine.close()), geth?.stop()]))

  /** The first build's difference from geth. */
  async function difference(payload: object): Promise<string | undefined> {
    const params = [payload, 'latest']
    // In sequence: geth ends calls that take five seconds.
    const reference = await geth.call('eth_simulateV1', params)
    const answers = await Promise.all(engines.map(([, engine]) => answerOf(engine, params, () => geth.baseState)))
    const found = answers.map((ours) => differenceOf(ours, reference))
    const at = found.findIndex((what) => what !== undefined)
    return at < 0 ? undefined : `${engines[at]?.[0]} build: ${found[at]}`
  }

  function differenceOf(ours: RpcAnswer, reference: RpcAnswer): string | undefined {
    if (ours.result !== undefined) answered += 1
    if (ours.error?.code === ErrorCode.invalidParams) return reference.error ? undefined : JSON.stringify(ours.error)
    const alike = ({ result, ...rest }: RpcAnswer) => {
      const blocks = (result as Record<string, unknown>[] | undefined)?.map((block, index) =>
        index === 0 || block.blockAccessListHash === undefined ? block : { ...block, blockAccessListHash: 'another' },
      )
      return { ...rest, result: blocks }
    }
    return differencesFromNode(
      alike(inOurWords(reference, ours)),
      alike({ result: ours.result, ...(ours.error && { error: ours.error }) }),
    )[0]
  }

  it('to handwritten requests', async () => {
    const found: string[] = []
    for (const [index, [name, payload]] of HANDMADE.entries()) {
      const isOne = index % 3 === (amsterdamTime === 0 ? 0 : 1) || name === 'words by number'
      if (!IS_LONG && name in HALT_REQUESTS && !isOne) continue
      const what = await difference(payload)
      if (what !== undefined) found.push(`${name}: ${what}`)
    }
    expect(found).toEqual([])
  }, 120_000)

  it(`to random requests, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    const found: string[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && found.length < MAX_FOUND; seed++) {
      const what = await difference(new RandomRequest(seed).payload())
      if (what !== undefined) found.push(`seed ${seed}: ${what}`)
    }
    expect(found).toEqual([])
    expect(answered).toBeGreaterThan((engines.length * SEEDS) / 10)
  }, 3_600_000)
})
