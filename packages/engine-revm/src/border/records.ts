// Written by `npm run border` from border/records.mjs: change that.

// biome-ignore-all lint/style/useTemplate: a line a field reads better.

import type { AccessListEntry, Address, Authorization, Hash, Hex, StateOverride, Withdrawal } from '@upfront/protocol'
import type {
  AccountChange,
  AccountFacts,
  BaseFeeParameters,
  BlobParameters,
  BlockEnvironment,
  BlockRules,
  CallRecord,
  Carried,
  ChainRules,
  DecidingFact,
  Dependencies,
  Deposit,
  ExecutedLog,
  ExecutedReceipt,
  Frame,
  FrameLog,
  FrameUses,
  Halt,
  ListedBlock,
  NamedContract,
  PlannedBlock,
  PlannedCall,
  Probe,
  Probed,
  RecordedAccount,
  RecordedSlot,
  Recording,
  Rejection,
  RollupReceipt,
  Sampled,
  SealedCall,
  SealedTransaction,
  SimulationPlan,
  StateLayer,
  StateRead,
  StepOptions,
  TouchedList,
  TouchedSlot,
  TransactionFault,
} from '@upfront/simulation'

import { count, flag, list, optionalQuantity, quantity, remembering, type TextReader } from './text.js'

export interface BlockExecution {
  rules: ChainRules
  block: BlockEnvironment
  opening: boolean
  isSplit: boolean
  transactions: Hex[]
  earlierReceipts: Hex[]
  earlierGasUsed: bigint
  earlierBlobGasUsed: bigint
}

export interface WrittenFailure {
  at: number
  halt?: Halt
  isGasCapped: boolean
  returnData: Hex
}

export interface Written {
  accounts: number
  slots: number
  touchedList?: TouchedList
  readList?: TouchedList
  gasUsed: bigint
  failures: WrittenFailure[]
  ends: number[]
  records: CallRecord[]
  steps: number[]
}

export interface ExecutionTransaction {
  hash: Hash
  from: Address
  to: Address | null
  nonce: bigint
}

export interface Executed {
  layers: Map<Address, AccountChange>[]
  transactions: ExecutionTransaction[]
  receipts: ExecutedReceipt[]
  gasUsed: bigint
  blobGasUsed: bigint
  receiptsRoot: Hash
  logsBloom: Hex
}

export interface Rejected {
  rejection?: Rejection
  block: number
  call?: number
}

export interface ExecutionRejected {
  transaction: number
  message: string
  nativePrecompile?: Address
}

export interface Encoded {
  transactions: Hex[]
}

export interface SealedBlock {
  rules: ChainRules
  hash: Hash
  block: BlockEnvironment
  transactions: SealedTransaction[]
  earlierReceipts: Hex[]
  earlierGasUsed: bigint
  earlierBlobGasUsed: bigint
  withdrawals: Withdrawal[]
  gasUsed: bigint
  transactionsRoot: Hash
  receiptsRoot: Hash
  logsBloom: Hex
  withdrawalsRoot?: Hash
  requestsHash?: Hash
  blockAccessListHash?: Hash
  blobGasUsed?: bigint
}

export function writeChainRules(record: ChainRules): string {
  return quantity(record.chainId) + `${record.depositContract ?? '-'}\n`
}

export function writeBlobParameters(record: BlobParameters): string {
  return count(record.target) + count(record.max) + quantity(record.baseFeeUpdateFraction)
}

export const writeBlockRules = remembering(
  (record: BlockRules) =>
    `${record.fork}\n` +
    `${record.opFork ?? '-'}\n` +
    (record.blob === undefined ? '-\n' : writeBlobParameters(record.blob)),
)

export function writeParentHeader(record: SimulationPlan): string {
  return (
    `${record.base.hash}\n` +
    quantity(record.base.number) +
    quantity(record.base.timestamp) +
    quantity(record.base.gasLimit) +
    quantity(record.base.gasUsed) +
    quantity(record.base.baseFeePerGas ?? 0n) +
    quantity(record.base.blobGasUsed ?? 0n) +
    quantity(record.base.excessBlobGas ?? 0n) +
    `${record.base.withdrawalsRoot ?? '-'}\n` +
    optionalQuantity(record.base.slotNumber) +
    writeBlockRules(record.baseRules)
  )
}

export const writeBaseFeeParameters = remembering(
  (record: BaseFeeParameters) => quantity(record.elasticity) + quantity(record.denominator) + quantity(record.minimum),
)

export function writeWithdrawal(record: Withdrawal): string {
  return quantity(record.index) + quantity(record.validatorIndex) + `${record.address}\n` + quantity(record.amount)
}

export function writeStateOverride(record: StateOverride): string {
  return (
    `${record.address}\n` +
    optionalQuantity(record.balance) +
    optionalQuantity(record.nonce) +
    `${record.code ?? '-'}\n` +
    `${record.movePrecompileToAddress ?? '-'}\n` +
    (record.state === undefined ? '-\n' : list(record.state, (item) => `${item[0]}\n` + `${item[1]}\n`)) +
    (record.stateDiff === undefined ? '-\n' : list(record.stateDiff, (item) => `${item[0]}\n` + `${item[1]}\n`))
  )
}

export function writeAccessListEntry(record: AccessListEntry): string {
  return `${record.address}\n` + list(record.storageKeys, (item) => `${item}\n`)
}

export function writeAuthorization(record: Authorization): string {
  return (
    quantity(record.chainId) +
    `${record.address}\n` +
    quantity(record.nonce) +
    quantity(record.yParity) +
    quantity(record.r) +
    quantity(record.s) +
    `${record.authority ?? '-'}\n`
  )
}

export function writeSealedCall(record: SealedCall): string {
  return `${record.raw}\n` + optionalQuantity(record.mint)
}

export function writePlannedCall(record: PlannedCall): string {
  return (
    count(record.type) +
    `${record.from}\n` +
    `${record.to ?? '-'}\n` +
    `${record.input}\n` +
    quantity(record.value) +
    optionalQuantity(record.nonce) +
    optionalQuantity(record.gas) +
    optionalQuantity(record.gasPrice) +
    optionalQuantity(record.shownGasPrice) +
    quantity(record.maxFeePerGas ?? 0n) +
    quantity(record.maxPriorityFeePerGas ?? 0n) +
    quantity(record.maxFeePerBlobGas ?? 0n) +
    list(record.accessList, writeAccessListEntry) +
    (record.blobVersionedHashes === undefined ? '-\n' : list(record.blobVersionedHashes, (item) => `${item}\n`)) +
    (record.authorizationList === undefined ? '-\n' : list(record.authorizationList, writeAuthorization)) +
    (record.sealed === undefined ? '-\n' : writeSealedCall(record.sealed))
  )
}

export function writePlannedBlock(record: PlannedBlock): string {
  return (
    quantity(record.number) +
    quantity(record.timestamp) +
    quantity(record.gasLimit) +
    `${record.feeRecipient}\n` +
    `${record.prevRandao}\n` +
    optionalQuantity(record.baseFeePerGas) +
    writeBaseFeeParameters(record.baseFeeParameters) +
    optionalQuantity(record.blobBaseFee) +
    `${record.parentBeaconBlockRoot ?? '-'}\n` +
    `${record.extraData}\n` +
    writeBlockRules(record.rules) +
    list(record.withdrawals, writeWithdrawal) +
    flag(record.isExecuted ?? false) +
    list(record.stateOverrides, writeStateOverride) +
    list(record.calls, writePlannedCall)
  )
}

export function writeStepOptions(record: StepOptions): string {
  return flag(record.stack) + flag(record.memory) + flag(record.storage) + flag(record.returnData) + count(record.limit)
}

export const writeRecording = remembering(
  (record: Recording) =>
    flag(record.frames) +
    flag(record.state) +
    flag(record.withoutCode ?? false) +
    flag(record.balances ?? false) +
    (record.steps === undefined ? '-\n' : writeStepOptions(record.steps)) +
    flag(record.uses ?? false) +
    flag(record.depends ?? false) +
    flag(record.effects ?? false) +
    flag(record.alone ?? false) +
    count(record.later ?? 0),
)

export function writeProbe(record: Probe): string {
  return (
    count(record.block) + count(record.call) + `${record.to}\n` + `${record.input}\n` + flag(record.isAfter ?? false)
  )
}

export function writePlan(record: SimulationPlan): string {
  return (
    writeChainRules(record.rules) +
    writeParentHeader(record) +
    flag(record.validation) +
    flag(record.traceTransfers) +
    flag(record.listTouched ?? false) +
    flag(record.isTrial ?? false) +
    quantity(record.gasBudget) +
    optionalQuantity(record.daFootprintScalar) +
    flag(record.returnFullTransactions) +
    count(record.answerBytes) +
    writeRecording(record.recording) +
    list(record.probes ?? [], writeProbe) +
    list(record.blocks, writePlannedBlock)
  )
}

export function writeBlockEnvironment(record: BlockEnvironment): string {
  return (
    quantity(record.number) +
    quantity(record.timestamp) +
    `${record.parentHash}\n` +
    quantity(record.gasLimit) +
    `${record.feeRecipient}\n` +
    `${record.prevRandao}\n` +
    quantity(record.baseFeePerGas) +
    `${record.parentBeaconBlockRoot ?? '-'}\n` +
    quantity(record.excessBlobGas ?? 0n) +
    optionalQuantity(record.slotNumber) +
    writeBlockRules(record.rules)
  )
}

export function writeBlockExecution(record: BlockExecution): string {
  return (
    writeChainRules(record.rules) +
    writeBlockEnvironment(record.block) +
    flag(record.opening) +
    flag(record.isSplit) +
    list(record.transactions, (item) => `${item}\n`) +
    list(record.earlierReceipts, (item) => `${item}\n`) +
    quantity(record.earlierGasUsed) +
    quantity(record.earlierBlobGasUsed)
  )
}

export function writeAccountChange(record: AccountChange): string {
  return (
    optionalQuantity(record.balance) +
    optionalQuantity(record.nonce) +
    `${record.code ?? '-'}\n` +
    flag(record.storageCleared) +
    list([...record.storage], (item) => `${item[0]}\n` + `${item[1]}\n`)
  )
}

export function writeLayer(record: StateLayer): string {
  return list([...record.accounts], (item) => `${item[0]}\n` + writeAccountChange(item[1]))
}

export function writeRead(record: StateRead): string {
  switch (record.kind) {
    case 'balance':
      return 'balance\n' + `${record.address}\n`
    case 'nonce':
      return 'nonce\n' + `${record.address}\n`
    case 'code':
      return 'code\n' + `${record.address}\n`
    case 'storage':
      return 'storage\n' + `${record.address}\n` + `${record.slot}\n`
    case 'blockHash':
      return 'blockHash\n' + quantity(record.number)
  }
}

export function writeDeposit(record: Deposit): string {
  return `${record.sourceHash}\n` + `${record.from}\n` + quantity(record.mint) + flag(record.isSystemTransaction)
}

export function writeSealedTransaction(record: SealedTransaction): string {
  return (
    count(record.type) +
    `${record.hash}\n` +
    optionalQuantity(record.chainId) +
    quantity(record.nonce) +
    quantity(record.gas) +
    optionalQuantity(record.gasPrice) +
    optionalQuantity(record.maxFeePerGas) +
    optionalQuantity(record.maxPriorityFeePerGas) +
    optionalQuantity(record.maxFeePerBlobGas) +
    `${record.to ?? '-'}\n` +
    quantity(record.value) +
    `${record.input}\n` +
    list(record.accessList, writeAccessListEntry) +
    list(record.blobVersionedHashes, (item) => `${item}\n`) +
    list(record.authorizationList, writeAuthorization) +
    quantity(record.v) +
    quantity(record.r) +
    quantity(record.s) +
    (record.deposit === undefined ? '-\n' : writeDeposit(record.deposit))
  )
}

export function writeSealedBlock(record: SealedBlock): string {
  return (
    writeChainRules(record.rules) +
    `${record.hash}\n` +
    writeBlockEnvironment(record.block) +
    list(record.transactions, writeSealedTransaction) +
    list(record.earlierReceipts, (item) => `${item}\n`) +
    quantity(record.earlierGasUsed) +
    quantity(record.earlierBlobGasUsed) +
    list(record.withdrawals, writeWithdrawal) +
    quantity(record.gasUsed) +
    `${record.transactionsRoot}\n` +
    `${record.receiptsRoot}\n` +
    `${record.logsBloom}\n` +
    `${record.withdrawalsRoot ?? '-'}\n` +
    `${record.requestsHash ?? '-'}\n` +
    `${record.blockAccessListHash ?? '-'}\n` +
    optionalQuantity(record.blobGasUsed)
  )
}

export function writeListedBlock(record: ListedBlock): string {
  return `${record.hash}\n` + quantity(record.number) + `${record.blockAccessListHash}\n`
}

export function readAccountChange(reader: TextReader): AccountChange {
  const record = {} as AccountChange
  if (reader.isGiven()) record.balance = reader.bigint()
  if (reader.isGiven()) record.nonce = reader.bigint()
  if (reader.isGiven()) record.code = reader.hex()
  record.storageCleared = reader.flag()
  record.storage = new Map(reader.list(() => [reader.hex(), reader.hex()]))
  return record
}

export function readRead(reader: TextReader): StateRead {
  switch (reader.word()) {
    case 'balance': {
      return { kind: 'balance', address: reader.hex() }
    }
    case 'nonce': {
      return { kind: 'nonce', address: reader.hex() }
    }
    case 'code': {
      return { kind: 'code', address: reader.hex() }
    }
    case 'storage': {
      return { kind: 'storage', address: reader.hex(), slot: reader.hex() }
    }
    case 'blockHash': {
      return { kind: 'blockHash', number: reader.bigint() }
    }
    default:
      throw new Error('the addon sent an unknown Read')
  }
}

export function readHalt(reader: TextReader): Halt {
  switch (reader.word()) {
    case 'outOfGas': {
      return { kind: 'outOfGas' }
    }
    case 'invalidJump': {
      return { kind: 'invalidJump' }
    }
    case 'reentrancySentry': {
      return { kind: 'reentrancySentry' }
    }
    case 'returnDataOutOfBounds': {
      return { kind: 'returnDataOutOfBounds' }
    }
    case 'stackUnderflow': {
      return { kind: 'stackUnderflow', height: reader.number(), inputs: reader.number() }
    }
    case 'stackOverflow': {
      return { kind: 'stackOverflow' }
    }
    case 'writeProtection': {
      return { kind: 'writeProtection', isPriced: reader.flag() }
    }
    case 'addressCollision': {
      return { kind: 'addressCollision' }
    }
    case 'codeStorageOutOfGas': {
      return { kind: 'codeStorageOutOfGas' }
    }
    case 'codeStartsWithEf': {
      return { kind: 'codeStartsWithEf' }
    }
    case 'nonceOverflow': {
      return { kind: 'nonceOverflow' }
    }
    case 'callTooDeep': {
      return { kind: 'callTooDeep' }
    }
    case 'insufficientBalance': {
      return { kind: 'insufficientBalance' }
    }
    case 'balanceOverflow': {
      return { kind: 'balanceOverflow' }
    }
    case 'precompileFailed': {
      return { kind: 'precompileFailed' }
    }
    case 'codeTooLarge': {
      return { kind: 'codeTooLarge', size: reader.number(), limit: reader.number() }
    }
    case 'invalidOpcode': {
      return { kind: 'invalidOpcode', opcode: reader.word() }
    }
    case 'precompile': {
      return {
        kind: 'precompile',
        fault: reader.name<
          | 'outOfGas'
          | 'inputLength'
          | 'modexpLength'
          | 'pairingLength'
          | 'blsPairingLength'
          | 'finalFlag'
          | 'fieldElement'
          | 'notOnCurve'
          | 'versionedHash'
          | 'kzgProof'
          | 'blsFieldElement'
          | 'blsNotOnCurve'
          | 'g1Subgroup'
          | 'g2Subgroup'
          | 'unknown'
        >(),
      }
    }
    case 'other': {
      return { kind: 'other', name: reader.word() }
    }
    default:
      throw new Error('the addon sent an unknown Halt')
  }
}

export function readWrittenFailure(reader: TextReader): WrittenFailure {
  const record = { at: reader.number() } as WrittenFailure
  if (reader.isGiven()) record.halt = readHalt(reader)
  record.isGasCapped = reader.flag()
  record.returnData = reader.hex()
  return record
}

export function readTouchedSlot(reader: TextReader): TouchedSlot {
  return { address: reader.hex(), slot: reader.hex() }
}

export function readTouchedList(reader: TextReader): TouchedList {
  return { accounts: reader.list(() => reader.hex()), slots: reader.list(() => readTouchedSlot(reader)) }
}

export function readFrameLog(reader: TextReader): FrameLog {
  return {
    position: reader.number(),
    address: reader.hex(),
    topics: reader.list(() => reader.hex()),
    data: reader.hex(),
  }
}

export function readNamedContract(reader: TextReader): NamedContract {
  return { address: reader.hex(), codeSize: reader.number(), opcode: reader.number() }
}

export function readFrameUses(reader: TextReader): FrameUses {
  return {
    opcodes: reader.list(() => [reader.number(), reader.number()] as const),
    reads: reader.list(() => [reader.hex(), reader.hex()] as const),
    writes: reader.list(() => [reader.hex(), reader.number()] as const),
    transientReads: reader.list(() => [reader.hex(), reader.number()] as const),
    transientWrites: reader.list(() => [reader.hex(), reader.number()] as const),
    inspected: reader.list(() => reader.hex()),
    named: reader.list(() => readNamedContract(reader)),
  }
}

export function readFrame(reader: TextReader): Frame {
  const record = {
    kind: reader.name<'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' | 'CREATE' | 'CREATE2' | 'SELFDESTRUCT'>(),
    depth: reader.number(),
    from: reader.hex(),
  } as Frame
  if (reader.isGiven()) record.to = reader.hex()
  record.input = reader.hex()
  record.output = reader.hex()
  record.gas = reader.bigint()
  record.gasUsed = reader.bigint()
  if (reader.isGiven()) record.value = reader.bigint()
  record.reverted = reader.flag()
  if (reader.isGiven()) record.halt = readHalt(reader)
  record.isPrecompile = reader.flag()
  record.logs = reader.list(() => readFrameLog(reader))
  if (reader.isGiven()) record.uses = readFrameUses(reader)
  return record
}

export function readAccountFacts(reader: TextReader): AccountFacts {
  const record = {
    exists: reader.flag(),
    balance: reader.bigint(),
    nonce: reader.bigint(),
    codeHash: reader.hex(),
  } as AccountFacts
  if (reader.isGiven()) record.code = reader.hex()
  return record
}

export function readRecordedSlot(reader: TextReader): RecordedSlot {
  return {
    slot: reader.hex(),
    isRead: reader.flag(),
    isAccessed: reader.flag(),
    before: reader.hex(),
    after: reader.hex(),
  }
}

export function readRecordedAccount(reader: TextReader): RecordedAccount {
  return {
    address: reader.hex(),
    isRead: reader.flag(),
    isAccessed: reader.flag(),
    isRemoved: reader.flag(),
    before: readAccountFacts(reader),
    after: readAccountFacts(reader),
    slots: reader.list(() => readRecordedSlot(reader)),
  }
}

export function readProbed(reader: TextReader): Probed {
  const record = {} as Probed
  if (reader.isGiven()) record.before = reader.hex()
  if (reader.isGiven()) record.after = reader.hex()
  return record
}

export function readDecidingFact(reader: TextReader): DecidingFact {
  const record = {
    kind: reader.name<
      | 'slot'
      | 'balance'
      | 'code'
      | 'blockHash'
      | 'time'
      | 'number'
      | 'coinbase'
      | 'prevRandao'
      | 'gasLimit'
      | 'baseFee'
      | 'blobBaseFee'
      | 'gasPrice'
      | 'origin'
      | 'gasLeft'
    >(),
  } as DecidingFact
  if (reader.isGiven()) record.address = reader.hex()
  if (reader.isGiven()) record.slot = reader.hex()
  if (reader.isGiven()) record.number = reader.bigint()
  record.value = reader.bigint()
  record.reached = reader.number()
  record.changed = reader.number()
  record.blocks = reader.number()
  return record
}

export function readDependencies(reader: TextReader): Dependencies {
  return { facts: reader.list(() => readDecidingFact(reader)), isPartial: reader.flag(), isSameLater: reader.flag() }
}

export function readCallRecord(reader: TextReader): CallRecord {
  const record = {
    gas: reader.bigint(),
    gasUsed: reader.bigint(),
    frames: reader.list(() => readFrame(reader)),
    accounts: reader.list(() => readRecordedAccount(reader)),
    probed: reader.list(() => readProbed(reader)),
    probeGas: reader.bigint(),
    preimages: reader.list(() => reader.hex()),
  } as CallRecord
  if (reader.isGiven()) record.dependencies = readDependencies(reader)
  if (reader.isGiven()) record.effects = reader.hex()
  return record
}

export function readWritten(reader: TextReader): Written {
  const record = { accounts: reader.number(), slots: reader.number() } as Written
  if (reader.isGiven()) record.touchedList = readTouchedList(reader)
  if (reader.isGiven()) record.readList = readTouchedList(reader)
  record.gasUsed = reader.bigint()
  record.failures = reader.list(() => readWrittenFailure(reader))
  record.ends = reader.list(() => reader.number())
  record.records = reader.list(() => readCallRecord(reader))
  record.steps = reader.list(() => reader.number())
  return record
}

export function readLog(reader: TextReader): ExecutedLog {
  return { address: reader.hex(), topics: reader.list(() => reader.hex()), data: reader.hex() }
}

export function readRollupReceipt(reader: TextReader): RollupReceipt {
  const record = { l1GasPrice: reader.bigint(), l1GasUsed: reader.bigint(), l1Fee: reader.bigint() } as RollupReceipt
  if (reader.isGiven()) record.l1BaseFeeScalar = reader.bigint()
  if (reader.isGiven()) record.l1BlobBaseFee = reader.bigint()
  if (reader.isGiven()) record.l1BlobBaseFeeScalar = reader.bigint()
  if (reader.isGiven()) record.operatorFeeScalar = reader.bigint()
  if (reader.isGiven()) record.operatorFeeConstant = reader.bigint()
  if (reader.isGiven()) record.daFootprintGasScalar = reader.bigint()
  return record
}

export function readReceipt(reader: TextReader): ExecutedReceipt {
  const record = {
    type: reader.number(),
    succeeded: reader.flag(),
    cumulativeGasUsed: reader.bigint(),
    gasUsed: reader.bigint(),
    effectiveGasPrice: reader.bigint(),
    logs: reader.list(() => readLog(reader)),
    contractAddress: reader.optional(() => reader.hex()) ?? null,
  } as ExecutedReceipt
  if (reader.isGiven()) record.blobGasUsed = reader.bigint()
  if (reader.isGiven()) record.rollup = readRollupReceipt(reader)
  record.encoded = reader.hex()
  return record
}

export function readExecutionTransaction(reader: TextReader): ExecutionTransaction {
  return {
    hash: reader.hex(),
    from: reader.hex(),
    to: reader.optional(() => reader.hex()) ?? null,
    nonce: reader.bigint(),
  }
}

export function readExecuted(reader: TextReader): Executed {
  return {
    layers: reader.list(() => new Map(reader.list(() => [reader.hex(), readAccountChange(reader)]))),
    transactions: reader.list(() => readExecutionTransaction(reader)),
    receipts: reader.list(() => readReceipt(reader)),
    gasUsed: reader.bigint(),
    blobGasUsed: reader.bigint(),
    receiptsRoot: reader.hex(),
    logsBloom: reader.hex(),
  }
}

export function readTransactionFault(reader: TextReader): TransactionFault {
  switch (reader.word()) {
    case 'nonceTooHigh': {
      return { kind: 'nonceTooHigh', nonce: reader.bigint(), expected: reader.bigint() }
    }
    case 'nonceTooLow': {
      return { kind: 'nonceTooLow', nonce: reader.bigint(), expected: reader.bigint() }
    }
    case 'nonceHasMaxValue': {
      return { kind: 'nonceHasMaxValue', nonce: reader.bigint() }
    }
    case 'tipAboveFeeCap': {
      return { kind: 'tipAboveFeeCap', tip: reader.bigint(), cap: reader.bigint() }
    }
    case 'feeCapBelowBaseFee': {
      return { kind: 'feeCapBelowBaseFee', cap: reader.bigint(), baseFee: reader.bigint() }
    }
    case 'blobsUnsupported': {
      return { kind: 'blobsUnsupported' }
    }
    case 'blobsOfCreation': {
      return { kind: 'blobsOfCreation' }
    }
    case 'noBlobHashes': {
      return { kind: 'noBlobHashes' }
    }
    case 'tooManyBlobs': {
      return { kind: 'tooManyBlobs' }
    }
    case 'blobHashVersion': {
      return { kind: 'blobHashVersion', index: reader.number() }
    }
    case 'blobFeeCapTooLow': {
      return { kind: 'blobFeeCapTooLow', cap: reader.bigint(), blobBaseFee: reader.bigint() }
    }
    case 'setCodeUnsupported': {
      return { kind: 'setCodeUnsupported' }
    }
    case 'setCodeOfCreation': {
      return { kind: 'setCodeOfCreation' }
    }
    case 'noAuthorizations': {
      return { kind: 'noAuthorizations' }
    }
    case 'initCodeTooLarge': {
      return { kind: 'initCodeTooLarge', size: reader.number(), limit: reader.number() }
    }
    case 'priceOverflow': {
      return { kind: 'priceOverflow' }
    }
    case 'insufficientFunds': {
      return { kind: 'insufficientFunds', have: reader.bigint(), want: reader.bigint() }
    }
    case 'insufficientFundsForTransfer': {
      return { kind: 'insufficientFundsForTransfer' }
    }
    case 'intrinsicGas': {
      return { kind: 'intrinsicGas', want: reader.bigint() }
    }
    case 'floorGas': {
      return { kind: 'floorGas', want: reader.bigint() }
    }
    default:
      throw new Error('the addon sent an unknown TransactionFault')
  }
}

export function readRejection(reader: TextReader): Rejection {
  switch (reader.word()) {
    case 'transaction': {
      return { kind: 'transaction', from: reader.hex(), gas: reader.bigint(), fault: readTransactionFault(reader) }
    }
    case 'blockGasLimit': {
      return { kind: 'blockGasLimit', left: reader.bigint(), asked: reader.bigint() }
    }
    case 'takenByPrecompile': {
      return { kind: 'takenByPrecompile', address: reader.hex() }
    }
    case 'notPrecompile': {
      return { kind: 'notPrecompile', address: reader.hex() }
    }
    case 'alreadyOverridden': {
      return { kind: 'alreadyOverridden', address: reader.hex() }
    }
    case 'nativePrecompile': {
      return { kind: 'nativePrecompile', address: reader.hex() }
    }
    case 'depositLength': {
      return { kind: 'depositLength', length: reader.number() }
    }
    case 'requestQueue': {
      const record = {
        kind: 'requestQueue',
        queue: reader.name<'withdrawal' | 'consolidation' | 'builderDeposit' | 'builderExit'>(),
      } as Extract<Rejection, { kind: 'requestQueue' }>
      if (reader.isGiven()) record.halt = readHalt(reader)
      return record
    }
    default:
      throw new Error('the addon sent an unknown Rejection')
  }
}

export function readRejected(reader: TextReader): Rejected {
  const record = {} as Rejected
  if (reader.isGiven()) record.rejection = readRejection(reader)
  record.block = reader.number()
  if (reader.isGiven()) record.call = reader.number()
  return record
}

export function readExecutionRejected(reader: TextReader): ExecutionRejected {
  const record = { transaction: reader.number(), message: reader.word() } as ExecutionRejected
  if (reader.isGiven()) record.nativePrecompile = reader.hex()
  return record
}

export function readEncoded(reader: TextReader): Encoded {
  return { transactions: reader.list(() => reader.hex()) }
}

export function readSampled(reader: TextReader): Sampled {
  return { read: readRead(reader), value: reader.bigint() }
}

export function readCarried(reader: TextReader): Carried {
  switch (reader.word()) {
    case 'carried': {
      return { kind: 'carried', written: reader.number(), sample: reader.list(() => readSampled(reader)) }
    }
    case 'differs': {
      return {
        kind: 'differs',
        difference: reader.name<
          | 'transactionHash'
          | 'transactionsRoot'
          | 'withdrawalsRoot'
          | 'transaction'
          | 'nativePrecompile'
          | 'gasUsed'
          | 'receiptsRoot'
          | 'logsBloom'
          | 'requestsHash'
          | 'blockAccessListHash'
          | 'blobGasUsed'
          | 'parent'
          | 'disputed'
        >(),
        detail: reader.word(),
      }
    }
    default:
      throw new Error('the addon sent an unknown Carried')
  }
}
