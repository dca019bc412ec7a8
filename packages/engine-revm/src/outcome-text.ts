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
import { readWritten } from './border/records.js'
import { defined, TextReader } from './border/text.js'

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
  const { accounts, slots, gasUsed, failures } = readWritten(reader)
  const json: JsonText = long ?? reader.rest()
  const ends = [...failures.map(({ at }) => at), json.length]
  return {
    pieces: failures.length === 0 ? [json] : ends.map((end, index) => partOf(json, ends[index - 1] ?? 0, end)),
    failures: failures.map(({ halt, returnData }) => ({ failure: failureOf(halt), returnData })),
    gasUsed,
    touched: { accounts, slots },
  }
}

function partOf(json: JsonText, start: number, end: number): JsonText {
  return typeof json === 'string' ? json.slice(start, end) : json.subarray(start, end)
}

function failureOf(halt: string | undefined): FailedCall['failure'] {
  return halt === undefined ? { kind: 'revert' } : { kind: 'halt', message: halt }
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
    logsBloom: reader.optional(() => reader.hex()) ?? ZERO_BLOOM,
    difficulty: 0n,
    number: reader.bigint(),
    gasLimit: reader.bigint(),
    gasUsed: reader.bigint(),
    timestamp: reader.bigint(),
    extraData: reader.hex(),
    mixHash: reader.hex(),
    nonce: ZERO_NONCE,
    baseFeePerGas: reader.bigint(),
    ...defined(
      'withdrawalsRoot',
      reader.optional(() => reader.hex()),
    ),
    ...defined(
      'blobGasUsed',
      reader.optional(() => reader.bigint()),
    ),
    ...defined(
      'excessBlobGas',
      reader.optional(() => reader.bigint()),
    ),
    ...defined(
      'parentBeaconBlockRoot',
      reader.optional(() => reader.hex()),
    ),
    ...defined(
      'requestsHash',
      reader.optional(() => reader.hex()),
    ),
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
  return {
    succeeded: false,
    gasUsed,
    maxUsedGas,
    returnData,
    logs,
    failure: failureOf(status === '0' ? undefined : status),
  }
}

function readLogs(reader: TextReader): IndexedLog[] {
  return reader.list(() => ({
    address: reader.hex(),
    index: reader.number(),
    topics: reader.list(() => reader.hex()),
    data: reader.hex(),
  }))
}
