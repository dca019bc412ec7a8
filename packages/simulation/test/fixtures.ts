import { type BlockHeader, type Hash, ZERO_ADDRESS, ZERO_HASH } from '@upfront/protocol'
import type { ChainRules } from '../src/index.js'

const hash = (digit: string): Hash => `0x${digit.repeat(64)}`

/** A Prague header, block 100 at time 1000. */
export function aHeader(fields: Partial<BlockHeader> = {}): BlockHeader {
  return {
    hash: hash('1'),
    parentHash: hash('2'),
    sha3Uncles: hash('3'),
    miner: ZERO_ADDRESS,
    stateRoot: ZERO_HASH,
    transactionsRoot: hash('4'),
    receiptsRoot: hash('5'),
    logsBloom: `0x${'0'.repeat(512)}`,
    difficulty: 0n,
    number: 100n,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 1000n,
    extraData: '0x',
    mixHash: hash('6'),
    nonce: '0x0000000000000000',
    baseFeePerGas: 7n,
    withdrawalsRoot: hash('7'),
    blobGasUsed: 0n,
    excessBlobGas: 0n,
    parentBeaconBlockRoot: hash('8'),
    requestsHash: hash('9'),
    ...fields,
  }
}

/** Prague from genesis on. */
export function ethereumRules(fields: Partial<ChainRules> = {}): ChainRules {
  return {
    chainId: 1337n,
    stack: 'ethereum',
    source: 'genesis-file',
    forks: [
      { fork: 'paris', block: 0n },
      { fork: 'shanghai', timestamp: 0n },
      { fork: 'cancun', timestamp: 0n },
      { fork: 'prague', timestamp: 0n },
    ],
    blobSchedule: [{ timestamp: 0n, parameters: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } }],
    schedule: { blockTime: 12n },
    ...fields,
  }
}

/** Jovian from genesis on. */
export function optimismRules(fields: Partial<ChainRules> = {}): ChainRules {
  return {
    chainId: 8453n,
    stack: 'optimism',
    source: 'genesis-file',
    forks: [
      { fork: 'bedrock', block: 0n },
      { fork: 'jovian', timestamp: 0n },
    ],
    blobSchedule: [],
    schedule: { blockTime: 2n },
    opBaseFee: { elasticity: 6n, denominator: 50n, denominatorCanyon: 250n },
    ...fields,
  }
}
