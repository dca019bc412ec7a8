import { type Hex, type JsonText, ZERO_HASH } from '@upfront/protocol'
import type {
  ExecutedBlock,
  ExecutedCall,
  ExecutedTransaction,
  FailedCall,
  IndexedLog,
  PlannedBlock,
  PlannedCall,
  SimulationOutcome,
  SimulationPlan,
  WrittenOutcome,
} from '@upfront/simulation'
import { TextReader } from './text-reader.js'

const EMPTY_UNCLES: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const ZERO_BLOOM: Hex = `0x${'00'.repeat(256)}`
const ZERO_NONCE: Hex = '0x0000000000000000'

/** What crates/bindings/src/encode.rs wrote. */
export function readOutcome(text: string, plan: SimulationPlan): SimulationOutcome {
  const reader = new TextReader(text)
  const touched = { accounts: reader.number(), slots: reader.number() }
  return { blocks: plan.blocks.map((block) => readBlock(reader, block)), touched }
}

/** An outcome as JSON, with the failed calls that stand in its gaps. @param long the JSON, where it is not in the text */
export function readWrittenOutcome(text: string, long: Buffer | undefined): WrittenOutcome {
  const reader = new TextReader(text)
  const touched = { accounts: reader.number(), slots: reader.number() }
  const gasUsed = reader.bigint()
  const gaps: { at: number; call: FailedCall }[] = []
  for (let left = reader.number(); left > 0; left--) {
    const at = reader.number()
    const failure = readFailure(reader.word())
    gaps.push({ at, call: { failure, returnData: reader.hex() } })
  }
  const json: JsonText = long ?? reader.rest()
  if (gaps.length === 0) return { pieces: [json], failures: [], gasUsed, touched }
  const ends = [...gaps.map(({ at }) => at), json.length]
  const pieces = ends.map((end, index) => partOf(json, ends[index - 1] ?? 0, end))
  return { pieces, failures: gaps.map(({ call }) => call), gasUsed, touched }
}

function partOf(json: JsonText, start: number, end: number): JsonText {
  return typeof json === 'string' ? json.slice(start, end) : json.subarray(start, end)
}

function readFailure(status: string): FailedCall['failure'] {
  return status === '0' ? { kind: 'revert' } : { kind: 'halt', message: status }
}

function readBlock(reader: TextReader, planned: PlannedBlock): ExecutedBlock {
  const header = {
    hash: reader.hex(),
    parentHash: reader.hex(),
    sha3Uncles: EMPTY_UNCLES,
    miner: reader.hex(),
    stateRoot: ZERO_HASH,
    transactionsRoot: reader.hex(),
    receiptsRoot: reader.hex(),
    logsBloom: reader.optionalHex() ?? ZERO_BLOOM,
    difficulty: 0n,
    number: reader.bigint(),
    gasLimit: reader.bigint(),
    gasUsed: reader.bigint(),
    timestamp: reader.bigint(),
    extraData: reader.hex(),
    mixHash: reader.hex(),
    nonce: ZERO_NONCE,
    baseFeePerGas: reader.bigint(),
    ...defined('withdrawalsRoot', reader.optionalHex()),
    ...defined('blobGasUsed', reader.optionalBigint()),
    ...defined('excessBlobGas', reader.optionalBigint()),
    ...defined('parentBeaconBlockRoot', reader.optionalHex()),
    ...defined('requestsHash', reader.optionalHex()),
  }
  const size = reader.bigint()
  const transactions: ExecutedTransaction[] = []
  const calls: ExecutedCall[] = []
  for (const call of planned.calls) {
    transactions.push(readTransaction(reader, call))
    calls.push(readCall(reader))
  }
  return { header, size, transactions, calls }
}

function defined<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: V })
}

function readTransaction(reader: TextReader, call: PlannedCall): ExecutedTransaction {
  return { hash: reader.hex(), nonce: reader.bigint(), gas: reader.bigint(), call }
}

function readCall(reader: TextReader): ExecutedCall {
  const gasUsed = reader.bigint()
  const maxUsedGas = reader.bigint()
  const status = reader.word()
  const returnData = reader.hex()
  const logs = readLogs(reader)
  if (status === '1') return { succeeded: true, gasUsed, maxUsedGas, returnData, logs }
  return { succeeded: false, gasUsed, maxUsedGas, returnData, logs, failure: readFailure(status) }
}

export function readLogs(reader: TextReader): IndexedLog[] {
  const logs: IndexedLog[] = []
  for (let left = reader.number(); left > 0; left--) {
    const address = reader.hex()
    const index = reader.number()
    const topics: Hex[] = []
    for (let count = reader.number(); count > 0; count--) topics.push(reader.hex())
    logs.push({ address, topics, data: reader.hex(), index })
  }
  return logs
}
