import {
  amsterdamChain,
  answerOf,
  differencesFromNode,
  findGeth,
  type Geth,
  RandomRequest,
  type RpcAnswer,
  startGeth,
  withoutReasons,
} from '@upfront/engine-conformance'
import { ErrorCode } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { BUILDS } from './builds.js'

const FIRST_SEED = Number(process.env.AMSTERDAM_SEED ?? 1)
const SEEDS = Number(process.env.AMSTERDAM_SEEDS ?? 40)
const MAX_FOUND = 5

/**
 * What may differ beside reasons: the access list of a block has its parent's hash (EIP-2935), which for a simulated parent is another
 * one here, as its state root is not known.
 */

const binary = findGeth()
if (binary === undefined) console.log('Amsterdam is not compared with geth: geth is not installed')
const describeGeth = binary === undefined ? describe.skip : describe

const CASES = [
  ['from the genesis block on', 0],
  ['from a block on that requests come to', 2_100],
].flatMap(([when, time]) => BUILDS.map(([build, create]) => [when, build, Number(time), create] as const))

describeGeth.each(CASES)('Amsterdam %s, as geth has it, on the %s build', (_when, _build, amsterdamTime, create) => {
  let revm: Engine
  let geth: Geth
  let answered = 0

  beforeAll(async () => {
    revm = create()
    geth = await startGeth(binary as string, amsterdamChain(amsterdamTime))
  })

  afterAll(() => Promise.all([revm.close(), geth?.stop()]))

  async function difference(payload: object): Promise<string | undefined> {
    const params = [payload, 'latest']
    const [ours, reference] = await Promise.all([
      answerOf(revm, params, () => geth.baseState),
      geth.call('eth_simulateV1', params),
    ])
    if (ours.result !== undefined) answered += 1
    if (ours.error?.code === ErrorCode.invalidParams) return reference.error ? undefined : JSON.stringify(ours.error)
    const alike = (answer: RpcAnswer) => {
      const { result, ...rest } = withoutReasons(answer)
      const blocks = (result as Record<string, unknown>[] | undefined)?.map((block, index) =>
        index === 0 || block.blockAccessListHash === undefined ? block : { ...block, blockAccessListHash: 'another' },
      )
      return { ...rest, result: blocks }
    }
    return differencesFromNode(
      alike(reference),
      alike({ result: ours.result, ...(ours.error && { error: ours.error }) }),
    )[0]
  }

  it(`on random requests, seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1}`, async () => {
    const found: string[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && found.length < MAX_FOUND; seed++) {
      const what = await difference(new RandomRequest(seed).payload())
      if (what !== undefined) found.push(`seed ${seed}: ${what}`)
    }
    expect(found).toEqual([])
    expect(answered).toBeGreaterThan(SEEDS / 10)
  }, 3_600_000)
})
