// Measures the process's CPU time for carrying a block by its access list: `npm run bench:lists`, with `--portable` for that build.
import { createPortableEngine, createRevmEngine } from '@upfront/engine-revm'
import { keccak256, toRlp } from 'viem'

/** Contents of a block's list. `full`: 1.7 times EIP-7928's average mainnet block at 30M gas, which at Amsterdam's prices takes 60M. */
const LISTS = {
  slots: { accounts: 500, slots: 2_000, reads: 1_500 },
  full: { accounts: 1_050, slots: 1_900, reads: 2_100 },
}
const BLOCKS = 200
/** Leading blocks left out: code and memory are cold, and no steps are dropped yet. */
const LEFT_OUT = 80

let seed = 12_345
const below = (end) => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
  return Math.floor((seed / 2 ** 32) * end)
}
const digits = (count) => Array.from({ length: count }, () => '0123456789abcdef'[below(16)]).join('')
const keys = (count) => Array.from({ length: count }, () => `0x${digits(64)}`).sort()
const hash = (number) => `0x${number.toString(16).padStart(64, '0')}`
/** A number as in RLP. */
const bare = (hex) => {
  const short = hex.slice(2).replace(/^0+/, '')
  return short.length % 2 === 0 ? `0x${short}` : `0x0${short}`
}

function accountsOf({ accounts, slots, reads }) {
  const shareOf = (all, index) => Math.floor(((index + 1) * all) / accounts) - Math.floor((index * all) / accounts)
  const addresses = Array.from({ length: accounts }, () => `0x${digits(40)}`).sort()
  return addresses.map((address, index) => ({
    address,
    slots: keys(shareOf(slots, index)),
    reads: keys(shareOf(reads, index)),
  }))
}

/** A third of the words have all their bytes, half of the slots change twice, half of the accounts have sent a transaction. */
function listOf(accounts, number) {
  const change = (index, value) => ({ index: `0x${index.toString(16)}`, value })
  const list = accounts.map(({ address, slots, reads }) => ({
    address,
    storageChanges: slots.map((key) => ({
      key,
      changes: Array.from({ length: 1 + below(2) }, (_, index) =>
        change(index + 1, `0x${(below(3) ? digits(20) : digits(64)).padStart(64, '0')}`),
      ),
    })),
    storageReads: reads,
    balanceChanges: [change(1, `0x1${digits(17)}`)],
    nonceChanges: below(2) ? [change(1, `0x${(number + 1).toString(16)}`)] : [],
    codeChanges: [],
  }))
  const changes = (all) => all.map(({ index, value }) => [bare(index), bare(value)])
  const rlp = list.map((account) => [
    account.address,
    account.storageChanges.map(({ key, changes: written }) => [bare(key), changes(written)]),
    account.storageReads.map(bare),
    changes(account.balanceChanges),
    changes(account.nonceChanges),
    [],
  ])
  // From a buffer, like a node's answer.
  const accessList = Buffer.from(JSON.stringify(list)).toString()
  return { accessList, blockAccessListHash: keccak256(toRlp(rlp)) }
}

for (const [name, size] of Object.entries(LISTS))
  for (const repeats of [true, false]) {
    const create = process.argv.includes('--portable') ? createPortableEngine : createRevmEngine
    const engine = create({ threads: 2, cacheBytes: 256 * 2 ** 20 })
    const first = accountsOf(size)
    const blocks = Array.from({ length: BLOCKS }, (_, index) => listOf(repeats ? first : accountsOf(size), index))
    engine.provide(hash(1), [{ kind: 'balance', address: first[0].address }], [hash(5)])
    const taken = []
    for (const [index, list] of blocks.entries()) {
      const [parent, number] = [hash(index + 1), index + 2]
      const before = process.cpuUsage()
      const block = { hash: hash(number), number: BigInt(number), ...list }
      const step = await engine.carryListed(
        block,
        { key: parent, layers: [] },
        { signal: new AbortController().signal },
      )
      const { user, system } = process.cpuUsage(before)
      if (step.outcome?.kind !== 'carried') throw new Error(`not carried: ${JSON.stringify(step)}`)
      taken.push((user + system) / 1_000)
    }
    await engine.close()
    const sorted = taken.slice(LEFT_OUT).sort((one, other) => one - other)
    const [best, median] = [sorted[sorted.length >> 3], sorted[sorted.length >> 1]]
    console.log(
      `${name}: ${JSON.stringify(size)}, ${repeats ? 'the same' : 'other'} slots in each block,`,
      `${blocks[0].accessList.length} bytes of JSON: median ${median.toFixed(2)} ms, best eighth ${best.toFixed(2)} ms`,
    )
  }
