import {
  type BuiltGeth,
  type FaultProxy,
  findGeth,
  GETH_DEVELOPER,
  GETH_GENESIS,
  Random,
  startBuiltGeth,
  startFaultProxy,
  Traffic,
} from '@upfront/devnet'
import { withAmsterdam } from '@upfront/engine-conformance'
import type { Hash, Hex } from '@upfront/protocol'
import type { SealedBlock } from '@upfront/simulation'
import { BUILDS } from '../builds.js'
import { accessListJson, writtenIn } from './block-access-list.js'
import { Follower } from './follower.js'

const geth = findGeth()
if (geth === undefined) console.warn('carrying by access lists: skipped, there is no geth in PATH, ~/go/bin or $GETH')
const withGeth = geth === undefined ? describe.skip : describe

/** `npm run test:carry` runs more. */
const BLOCKS = Math.min(200, Number(process.env.CARRY_BLOCKS ?? 10))
const SEED = Number(process.env.CARRY_SEED ?? 20_261_124)

withGeth("Amsterdam's blocks carried by their access lists", () => {
  let node: BuiltGeth
  let proxy: FaultProxy
  /** Alters the node's list, for wrong ones. */
  let alter: ((list: ReturnType<typeof accessListJson>) => unknown) | undefined

  beforeAll(async () => {
    node = await startBuiltGeth(geth!, withAmsterdam(GETH_GENESIS, 0))
    // geth has the lists, but no method that returns them.
    proxy = await startFaultProxy(node.rpcUrl)
    proxy.lies = ({ method, params }) => {
      if (method !== 'eth_getBlockAccessList' || proxy.lacks.has(method)) return undefined
      const list = accessListJson(node.accessList((params as [Hash])[0])!)
      return alter ? alter(list) : list
    }
  })
  afterAll(() => Promise.all([node.stop(), proxy.stop()]))

  it(
    'give the same values as executing the blocks',
    async () => {
      const random = new Random(SEED)
      const traffic = new Traffic(random, node.rpc, 1337, GETH_DEVELOPER.privateKey as Hash)
      const executing = await Follower.start(BUILDS[0]![1]({ threads: 2 }), node.rpcUrl)
      const listing = await Promise.all(BUILDS.map(([, create]) => Follower.start(create({ threads: 2 }), proxy.url)))
      const all = [executing, ...listing]
      const read = async (block: SealedBlock) => {
        const reads = traffic.reads(50, block.header)
        const values = await executing.truth(reads, block)
        for (const { engine } of all) engine.provide(block.header.hash, reads, values)
      }
      let [written, carried] = [0, 0]
      try {
        await traffic.begin()
        let parent = await executing.fetched('latest')
        await read(parent)
        for (let made = 0; made < BLOCKS; made++) {
          if (made > 0) await traffic.send()
          const built = { feeRecipient: traffic.feeRecipient(), withdrawals: traffic.withdrawals(made) }
          const block = await executing.fetched((await node.build(built)) as Hash)
          const { hash, number } = block.header
          expect((await executing.carry(block, parent)).isListed).toBe(false)
          const writes = writtenIn(node.accessList(hash) as Hex)
          const reads = [...writes, ...traffic.reads(100, block.header)]
          const executed = executing.engine.known(hash, reads)
          for (const follower of listing) {
            expect((await follower.carry(block, parent)).isListed).toBe(true)
            const listed = follower.engine.known(hash, reads)
            for (const [index, read] of reads.entries()) {
              const [value, other] = [listed[index], executed[index]]
              if (index >= writes.length && (value === undefined || other === undefined)) continue
              expect({ number, read, value }).toEqual({ number, read, value: other })
              expect(value).toBeDefined()
              if (index < writes.length) written++
              else carried++
            }
          }
          if (random.chance(30)) await read(block)
          parent = block
        }
      } finally {
        await Promise.all(all.map((follower) => follower.close()))
      }
      console.info('carried by access lists:', JSON.stringify({ blocks: BLOCKS, written, carried }))
      expect(written).toBeGreaterThan(BLOCKS * 10)
      expect(carried).toBeGreaterThan(BLOCKS * 10)
    },
    60_000 + BLOCKS * 5_000,
  )

  const FALSE: [string, typeof alter][] = [
    [
      'a balance is another',
      (list) => list.map((account) => ({ ...account, balanceChanges: [{ index: '0x1', value: '0x1' }] })),
    ],
    ['accounts are missing', (list) => list.slice(1)],
    ['it is no list', () => ({ not: 'a list' })],
    ['it is none that the node serves', () => null],
  ]

  it.each(FALSE)('are executed if the list is wrong: %s', async (_what, falsely) => {
    const follower = await Follower.start(BUILDS[0]![1]({ threads: 2 }), proxy.url)
    const parent = await follower.fetched('latest')
    const traffic = new Traffic(new Random(SEED), node.rpc, 1337, GETH_DEVELOPER.privateKey as Hash)
    const reads = traffic.reads(20, parent.header)
    follower.engine.provide(parent.header.hash, reads, await follower.truth(reads, parent))
    await traffic.send()
    const hash = (await node.build({ feeRecipient: traffic.feeRecipient(), withdrawals: [] })) as Hash
    const block = await follower.fetched(hash)
    alter = falsely
    try {
      expect((await follower.carry(block, parent)).isListed).toBe(false)
    } finally {
      alter = undefined
    }
    const refused = follower.events.filter(({ kind }) => kind === 'listRefused')
    expect(refused).toHaveLength(falsely?.([]) === null ? 0 : 1)
    const written = writtenIn(node.accessList(hash) as Hex)
    const truth = await follower.truth(written, block)
    expect(follower.engine.known(hash, written).map((value) => BigInt(value ?? -1))).toEqual(truth.map(BigInt))
    await follower.close()
  })

  it('are executed if the node serves no lists, after asking it once', async () => {
    proxy.lacks.add('eth_getBlockAccessList')
    const follower = await Follower.start(BUILDS[0]![1]({ threads: 2 }), proxy.url)
    const reads = () => proxy.stats.byMethod.eth_getBlockAccessList ?? 0
    let parent = await follower.fetched('latest')
    const address = GETH_DEVELOPER.address.toLowerCase() as Hex
    follower.engine.provide(
      parent.header.hash,
      [{ kind: 'balance', address }],
      await follower.truth([{ kind: 'balance', address }], parent),
    )
    const before = reads()
    for (let made = 0; made < 3; made++) {
      const block = await follower.fetched((await node.build({ feeRecipient: address, withdrawals: [] })) as Hash)
      expect((await follower.carry(block, parent)).isListed).toBe(false)
      parent = block
    }
    expect(reads() - before).toBe(1)
    await follower.close()
  })
})
