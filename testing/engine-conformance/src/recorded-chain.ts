import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BlockHeader, type BlockParameter, blockHeaderFromRpc, type Hex } from '@upfront/protocol'
import { type ChainRules, chainRulesFromGenesis } from '@upfront/simulation'
import type { BaseState, RpcAnswer } from './answer.js'
import { type RecordedAccount, StateValues, valueOfAccounts } from './state-values.js'

/** Ethereum from the Merge to BPO 2, or an OP-stack chain with all forks to Jovian from genesis on. */
export type RecordingName = 'conformance' | 'conformance-op'

export interface RecordedExchange {
  name: string
  params: unknown
  answer: RpcAnswer
}

const RECORDINGS = fileURLToPath(new URL('../../recordings', import.meta.url))

/** A parsed file of a recording. */
export function recordedJson(recording: RecordingName, ...path: string[]) {
  return JSON.parse(readFileSync(join(RECORDINGS, recording, ...path), 'utf8'))
}

/** Names of the files in a recording's folder. */
export function recordedFiles(recording: RecordingName, folder: string): string[] {
  return readdirSync(join(RECORDINGS, recording, folder)).sort()
}

/** Recorded requests and answers of eth_simulateV1. */
export function recordedExchanges(recording: RecordingName): RecordedExchange[] {
  const files = recordedFiles(recording, 'cases').filter((name) => name.endsWith('.io'))
  return files.map((name) => {
    const lines = readFileSync(join(RECORDINGS, recording, 'cases', name), 'utf8').split('\n')
    const after = (mark: string) => JSON.parse(lines.find((line) => line.startsWith(mark))!.slice(mark.length))
    return { name, params: after('>> ').params, answer: after('<< ') }
  })
}

/** A chain stored in files: its blocks, and the state at its head. */
export class RecordedChain {
  readonly headers: readonly BlockHeader[]
  readonly rules: ChainRules
  readonly #accounts: Record<string, RecordedAccount>
  readonly #genesis: { config: Record<string, unknown> }
  readonly #head: Record<string, unknown>
  readonly #state: StateValues
  /** Input of each block's first transaction. */
  readonly #deposits: readonly (Hex | undefined)[]

  constructor(recording: RecordingName) {
    const blocks: { transactions: { input?: Hex }[] }[] = recordedJson(recording, 'chain', 'blocks.json')
    this.headers = blocks.map(blockHeaderFromRpc)
    this.#genesis = recordedJson(recording, 'chain', 'genesis.json')
    this.#head = { ...blocks.at(-1) }
    this.rules = chainRulesFromGenesis(this.#genesis)
    this.#deposits = blocks.map((block) => block.transactions[0]?.input)
    this.#accounts = recordedJson(recording, 'chain', 'head-state.json')
    this.#state = new StateValues(valueOfAccounts(this.#accounts, (number) => this.headers[Number(number)]?.hash))
  }

  /** The base state for simulations on this block, with the head's state. */
  baseStateAt(block: BlockParameter): BaseState {
    const base = this.#header(block)
    return { rules: this.rules, base, state: this.#state, daFootprintScalar: this.#daFootprintScalar(base) }
  }

  /**
   * A chain that starts with the state, time, fees and forks of this chain's head. geth's genesis must have number 0, so forks activated by
   * number are active from the start, and there are no ancestors.
   */
  headAsGenesis(): { genesis: object; baseStateOn(genesisBlock: BlockHeader): BaseState } {
    const { timestamp, gasLimit, extraData, mixHash, miner, baseFeePerGas, blobGasUsed, excessBlobGas, nonce } =
      this.#head
    const config = Object.fromEntries(
      Object.entries(this.#genesis.config).map(([name, value]) => [name, name.endsWith('Block') ? 0 : value]),
    )
    const header = { timestamp, gasLimit, extraData, mixHash, coinbase: miner, nonce, difficulty: '0x0' }
    const fees = { baseFeePerGas, blobGasUsed, excessBlobGas }
    const genesis = { ...header, ...fees, config: { ...config, terminalTotalDifficulty: 0 }, alloc: this.#accounts }
    const rules = chainRulesFromGenesis(genesis)
    return {
      genesis,
      baseStateOn: (base) => ({ rules, base, state: new StateValues(valueOfAccounts(this.#accounts)) }),
    }
  }

  #header(block: BlockParameter): BlockHeader {
    const found =
      block.kind === 'number'
        ? this.headers.find(({ number }) => number === block.number)
        : block.kind === 'hash'
          ? this.headers.find(({ hash }) => hash === block.hash)
          : this.headers.at(block.tag === 'earliest' ? 0 : -1)
    if (found === undefined) throw new Error('header not found')
    return found
  }

  /** From the block's attributes deposit: the last value of `setL1BlockValuesJovian`. */
  #daFootprintScalar({ number }: BlockHeader): bigint | undefined {
    const deposit = this.#deposits[Number(number)]
    return deposit?.startsWith('0x3db6be2b') ? BigInt(`0x${deposit.slice(-4)}`) : undefined
  }
}
