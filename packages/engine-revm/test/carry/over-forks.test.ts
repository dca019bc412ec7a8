import { findGeth, GETH_DEVELOPER, GETH_GENESIS, startBuiltGeth } from '@upfront/devnet'
import { withAmsterdam } from '@upfront/engine-conformance'
import type { Address, Hash, Hex } from '@upfront/protocol'
import type { StateRead } from '@upfront/simulation'
import { createWalletClient, http, numberToHex, pad } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createRevmEngine } from '../../src/index.js'
import { Follower } from './follower.js'

const geth = findGeth()
if (geth === undefined) console.warn('forks: skipped, there is no geth in PATH, ~/go/bin or $GETH')
const withGeth = geth === undefined ? it.skip : it

/** Seconds; a block of `startBuiltGeth` is one to three after its parent. */
const FORKS = { pragueTime: 8, osakaTime: 16 }
const AMSTERDAM = 24
const BLOCKS = 16
const BEACON_ROOTS: Address = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const HISTORY: Address = '0x0000f90827f1c53a10cb7a02335b175320002935'
const FEE_RECIPIENT: Address = `0x${'fe'.repeat(20)}`
const RECIPIENT: Address = `0x${'ab'.repeat(20)}`
const RING = 8_191n

withGeth('state carried over the first blocks of Prague, Osaka and Amsterdam equals geth’s', async () => {
  const genesis = withAmsterdam({ ...GETH_GENESIS, config: { ...GETH_GENESIS.config, ...FORKS } }, AMSTERDAM)
  const node = await startBuiltGeth(geth!, genesis)
  const follower = await Follower.start(createRevmEngine({ threads: 1 }), node.rpcUrl)
  try {
    const account = privateKeyToAccount(GETH_DEVELOPER.privateKey as Hex)
    const sender = account.address.toLowerCase() as Address
    const wallet = createWalletClient({ account, transport: http(node.rpcUrl) })
    const reads = ({ number, timestamp }: { number: bigint; timestamp: bigint }): StateRead[] => [
      ...[sender, RECIPIENT, FEE_RECIPIENT].map((address): StateRead => ({ kind: 'balance', address })),
      { kind: 'nonce', address: sender },
      { kind: 'storage', address: BEACON_ROOTS, slot: slot((timestamp % RING) + RING) },
      ...(timestamp < FORKS.pragueTime
        ? []
        : [{ kind: 'storage' as const, address: HISTORY, slot: slot((number - 1n) % RING) }]),
    ]
    let parent = await follower.fetched('latest')
    const asked = reads({ number: 1n, timestamp: 1n })
    follower.engine.provide(parent.header.hash, asked, await follower.truth(asked, parent))
    const forks = new Set<string>()
    for (let made = 0; made < BLOCKS; made += 1) {
      await wallet.sendTransaction({ chain: null, to: RECIPIENT, value: 1n, gas: 21_000n, gasPrice: 2_000_000_000n })
      const hash = await node.build({ feeRecipient: FEE_RECIPIENT, withdrawals: [] })
      const block = await follower.fetched(hash as Hash)
      expect(block.transactions).toHaveLength(1)
      await follower.carry(block, parent)
      const looked = reads(block.header)
      expect(follower.engine.known(hash as Hash, looked)).toEqual(await follower.truth(looked, block))
      const { timestamp } = block.header
      const begun = [FORKS.pragueTime, FORKS.osakaTime, AMSTERDAM].filter((time) => timestamp >= time)
      forks.add(['cancun', 'prague', 'osaka', 'amsterdam'][begun.length]!)
      parent = block
    }
    expect([...forks]).toEqual(['cancun', 'prague', 'osaka', 'amsterdam'])
  } finally {
    await follower.close()
    await node.stop()
  }
})

function slot(number: bigint): Hash {
  return pad(numberToHex(number))
}
