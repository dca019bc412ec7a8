import type { FollowedBlock } from '@upfront/chain'

/** geth's, of `eth/gasprice` and `ethconfig.FullNodeGPO`. */
const BLOCKS = 20
const TIPS_OF_A_BLOCK = 3
const LEAST_TIP = 2n
const PERCENTILE = 60
const MOST_TIP = 500_000_000_000n

/**
 * A tip as geth's `eth_maxPriorityFeePerGas` suggests it, in wei per gas: of the three smallest tips of each of the newest 20 blocks, the one at
 * 60 percent; up to 40 blocks where some say little. Undefined where one says nothing, for geth then falls back on what it suggested before, or
 * where too few blocks are held.
 * @param blocks newest first
 */
export function suggestTip(blocks: Iterable<FollowedBlock>): bigint | undefined {
  const tips: bigint[] = []
  let wanted = BLOCKS
  let looked = 0
  for (const block of blocks) {
    const ofBlock = smallestTips(block)
    if (ofBlock === undefined || ofBlock.length === 0) return undefined
    looked += 1
    if (ofBlock.length === 1 && tips.length + 1 + wanted - looked < 2 * BLOCKS) wanted += 1
    tips.push(...ofBlock)
    if (looked === wanted) {
      const tip = tips.sort(ascendingly)[Math.floor(((tips.length - 1) * PERCENTILE) / 100)]!
      return tip < MOST_TIP ? tip : MOST_TIP
    }
  }
  return undefined
}

const known = new WeakMap<FollowedBlock, bigint[] | undefined>()

function smallestTips(block: FollowedBlock): bigint[] | undefined {
  if (!known.has(block)) known.set(block, findSmallestTips(block))
  return known.get(block)
}

function findSmallestTips({ header, transactions, isWhole }: FollowedBlock): bigint[] | undefined {
  const { baseFeePerGas = 0n, miner } = header
  if (!isWhole) return undefined
  const tips: bigint[] = []
  for (const { gasPrice, from } of transactions as { gasPrice?: string; from: string }[]) {
    const tip = BigInt(gasPrice ?? '0x0') - baseFeePerGas
    if (tip >= LEAST_TIP && from !== miner) tips.push(tip)
  }
  return tips.sort(ascendingly).slice(0, TIPS_OF_A_BLOCK)
}

function ascendingly(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b)
}
