import {
  type BuiltGeth,
  findGeth,
  GETH_DEVELOPER,
  GETH_GENESIS,
  Random,
  startBuiltGeth,
  Traffic,
} from '@upfront/devnet'
import { withAmsterdam } from '@upfront/engine-conformance'
import { DEFAULT_SIMULATION_LIMITS, decodeSimulationRequest, type Hash } from '@upfront/protocol'
import { type SealedBlock, simulate } from '@upfront/simulation'
import { BUILDS } from '../builds.js'
import { at, Follower, limits } from './follower.js'

const geth = findGeth()
if (geth === undefined) console.warn('carry: skipped, there is no geth in PATH, ~/go/bin or $GETH')
const withGeth = geth === undefined ? describe.skip : describe

/** `npm run test:carry` runs more. */
const BLOCKS = Number(process.env.CARRY_BLOCKS ?? 20)
const SEED = Number(process.env.CARRY_SEED ?? 20_261_123)
/** Values compared at each block, and calls simulated at some blocks. */
const READS = Number(process.env.CARRY_READS ?? 40)
const SIMULATIONS = Number(process.env.CARRY_SIMULATIONS ?? 4)
const SIMULATED_PERCENT = process.env.CARRY_SIMULATIONS === undefined ? 30 : 100

interface Called {
  status: string
  gasUsed: string
  returnData: string
}

const CASES = [
  ['Osaka', GETH_GENESIS, BUILDS],
  // One build is enough for the rules.
  ['Amsterdam', withAmsterdam(GETH_GENESIS, 0), BUILDS.slice(0, 1)],
] as const

withGeth.each(CASES)("state carried over a real geth's blocks of %s", (_fork, genesis, builds) => {
  let node: BuiltGeth
  beforeAll(async () => {
    node = await startBuiltGeth(geth!, genesis)
  })
  afterAll(() => node.stop())

  it(
    `equals the node’s values and simulations at each block, through reorganisations, on: ${builds.map(([build]) => build).join(', ')}`,
    async () => {
      const random = new Random(SEED)
      const starting = builds.map(([, create]) => Follower.start(create({ threads: 4 }), node.rpcUrl))
      const followers = await Promise.all(starting)
      const fetched = (block: Hash | 'latest') => followers[0]!.fetched(block)
      const traffic = new Traffic(random, node.rpc, 1337, GETH_DEVELOPER.privateKey as Hash)
      const chain: SealedBlock[] = [await fetched('latest')]
      let [held, checked, simulated, reorganised, transactions, withBlobs] = [0, 0, 0, 0, 0, 0]

      const check = async (block: SealedBlock, kept: boolean) => {
        const reads = traffic.reads(READS, block.header)
        const known = followers.map(({ engine }) => engine.known(block.header.hash, reads))
        const truth = await followers[0]!.truth(reads, block)
        for (const [build, { engine }] of followers.entries()) {
          for (const [index, read] of reads.entries()) {
            checked++
            const value = known[build]![index]
            if (value === undefined) continue
            held++
            const place = { seed: SEED, build: builds[build]![0], block: block.header.number, read }
            expect({ ...place, value }).toEqual({ ...place, value: truth[index] })
          }
          if (kept) engine.provide(block.header.hash, reads, truth)
        }
      }
      const compare = async (block: SealedBlock) => {
        const calls = Array.from({ length: SIMULATIONS }, () => {
          const { to, data, value } = traffic.call()
          return {
            from: traffic.sender(),
            to,
            gas: '0x61a80',
            ...(data && { input: data }),
            ...(value && { value: `0x${value.toString(16)}` }),
          }
        })
        const payload = { blockStateCalls: [{ calls }] }
        const hash = block.header.hash
        const request = decodeSimulationRequest([payload, hash], DEFAULT_SIMULATION_LIMITS)
        const answer = async ({ rules, driver }: Follower) =>
          simulate({
            ...{ request, base: block.header, state: at(block), rules, driver, dialect: 'ethereum' },
            ...{ limits: DEFAULT_SIMULATION_LIMITS, ...limits() },
          })
        const theirs = await node
          .rpc<[{ calls: Called[] }]>('eth_simulateV1', [payload, hash])
          .catch((error: Error) => error)
        for (const follower of followers) {
          const ours = await answer(follower).catch((error: Error) => error)
          if (ours instanceof Error || theirs instanceof Error) {
            const [own, said] = [ours, theirs].map((each) => (each instanceof Error ? each.message : 'an answer'))
            expect(own?.replace(/^blockStateCalls[^ ]*: /, '')).toBe(said?.replace(/^eth_simulateV1: /, ''))
            continue
          }
          const [{ calls: own }] = JSON.parse(String(ours.json)) as [{ calls: Called[] }]
          const facts = ({ status, gasUsed, returnData }: Called) => [status, gasUsed, returnData]
          expect(own.map(facts)).toEqual(theirs[0].calls.map(facts))
          simulated += calls.length
        }
      }

      await traffic.begin()
      for (let made = 0; made < BLOCKS; made++) {
        if (made > 0 && made % 100 === 0) process.stderr.write(`${made} of ${BLOCKS} blocks carried …\n`)
        const parent = chain.at(-1)!
        // A first request reads state: an engine with an empty cache has nothing to carry.
        if (made === 0) await check(parent, true)
        else await traffic.send()
        const hash = await node.build({
          feeRecipient: traffic.feeRecipient(),
          withdrawals: traffic.withdrawals(made),
        })
        const block = await fetched(hash as Hash)
        // Sometimes requests use the block before it is carried.
        if (random.chance(20)) await check(block, true)
        await Promise.all(followers.map((follower) => follower.carry(block, parent)))
        transactions += block.transactions.length
        withBlobs += block.transactions.filter((each) => (each as { type: string }).type === '0x3').length
        chain.push(block)
        await check(block, random.chance(50))
        if (random.chance(SIMULATED_PERCENT)) await compare(block)
        if (random.chance(12) && chain.length > 8) {
          const depth = 1 + random.below(5)
          const target = chain.at(-1 - depth)!
          await node.rpc('debug_setHead', [`0x${target.header.number.toString(16)}`])
          chain.length -= depth
          reorganised++
          await check(target, true)
        }
      }
      const carried = followers.map(({ carrier }) => carrier.status().counts)
      await Promise.all(followers.map((follower) => follower.close()))
      const counts = { blocks: BLOCKS, transactions, withBlobs, checked, held, simulated, reorganised }
      console.info('carry, against geth:', JSON.stringify(counts))
      expect(held).toBeGreaterThan(checked / 4)
      expect(transactions).toBeGreaterThan(BLOCKS)
      expect(withBlobs).toBeGreaterThan(0)
      expect(reorganised).toBeGreaterThan(0)
      expect(carried).toEqual(builds.map(() => ({ carried: BLOCKS })))
    },
    60_000 + BLOCKS * 10_000,
  )
})
