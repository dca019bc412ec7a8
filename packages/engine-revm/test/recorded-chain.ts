import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type BlockHeader,
  type BlockParameter,
  blockHeaderFromRpc,
  type Hash,
  type Hex,
  ZERO_HASH,
} from '@upfront/protocol'
import {
  type ChainRules,
  chainRulesFromGenesis,
  type StateRead,
  type StateSource,
  type StateValue,
} from '@upfront/simulation'

type Account = { balance?: Hex; nonce?: Hex; code?: Hex; storage?: Record<Hash, Hash> }

/** The folder that is shared with the project, where it is. */
export const SHARED = process.env.UPFRONT_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url))

export const hasShared = existsSync(join(SHARED, 'conformance'))

/** A chain kept as files: its blocks, and the state at its head. */
export class RecordedChain {
  readonly headers: BlockHeader[]
  readonly rules: ChainRules
  readonly #state: Record<Hex, Account>
  readonly #deposits: (Hex | undefined)[]
  reads = 0

  constructor(readonly folder: string) {
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))
    const blocks: { transactions: { input?: Hex }[] }[] = read('blocks.json')
    this.headers = blocks.map(blockHeaderFromRpc)
    this.#deposits = blocks.map((block) => block.transactions[0]?.input)
    this.#state = read('head-state.json')
    this.rules = chainRulesFromGenesis(read('genesis.json'))
  }

  header(block: BlockParameter): BlockHeader {
    const head = this.headers.at(-1)
    const found =
      block.kind === 'number'
        ? this.headers.find((header) => header.number === block.number)
        : block.kind === 'hash'
          ? this.headers.find((header) => header.hash === block.hash)
          : block.tag === 'earliest'
            ? this.headers[0]
            : head
    if (found === undefined) throw new Error('header not found')
    return found
  }

  /** From the block's attributes deposit: `setL1BlockValuesJovian` ends with it. */
  daFootprintScalar(header: BlockHeader): bigint | undefined {
    const deposit = this.#deposits[Number(header.number)]
    return deposit?.startsWith('0x3db6be2b') ? BigInt(`0x${deposit.slice(-4)}`) : undefined
  }

  source(header: BlockHeader): StateSource {
    return {
      key: header.hash,
      blockNumber: header.number,
      layers: [],
      read: (reads) => Promise.resolve(reads.map((read) => this.#value(read))),
    }
  }

  #value(read: StateRead): StateValue {
    this.reads++
    if (read.kind === 'blockHash') return this.headers[Number(read.number)]?.hash ?? ZERO_HASH
    const account = this.#state[read.address]
    switch (read.kind) {
      case 'balance':
        return BigInt(account?.balance ?? 0)
      case 'nonce':
        return BigInt(account?.nonce ?? 0)
      case 'code':
        return account?.code ?? '0x'
      case 'storage':
        return account?.storage?.[read.slot] ?? ZERO_HASH
    }
  }
}

export interface RecordedExchange {
  name: string
  params: unknown
  answer: { result?: unknown; error?: { code: number; message: string } }
}

export function recordedExchanges(folder: string): RecordedExchange[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.io'))
  return files.sort().map((name) => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    const after = (mark: string) =>
      JSON.parse(lines.find((line) => line.startsWith(mark))?.slice(mark.length) ?? 'null')
    return { name, params: after('>> ').params, answer: after('<< ') }
  })
}
