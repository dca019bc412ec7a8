import type { FollowedBlock } from '@upfront/chain'

/** Defaults of geth (`eth/gasprice`, `ethconfig.FullNodeGPO`). */
const BLOCKS = 20
const TIPS_OF_A_BLOCK = 3
const MIN_TIP = 2n
const PERCENTILE = 60
const MAX_TIP = 500_000_000_000n

/**
 * Suggests a tip like geth's `eth_maxPriorityFeePerGas`, in wei per gas: the 60th percentile of the three smallest tips of each of the
 * newest 20 blocks; up to 40 blocks if some have a single tip. Undefined if a block has none (geth then falls back on its previous
 * suggestion), or if too few blocks are held.
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
      return tip < MAX_TIP ? tip : MAX_TIP
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
    if (tip >= MIN_TIP && from !== miner) tips.push(tip)
  }
  return tips.sort(ascendingly).slice(0, TIPS_OF_A_BLOCK)
}

function ascendingly(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b)
}
