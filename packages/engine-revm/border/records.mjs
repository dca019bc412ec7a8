/**
 * The data that crosses between TypeScript and Rust, in order, one value per line. `npm run border` generates both sides from it:
 * src/border/records.ts and crates/border/src/records.rs.
 *
 * A field is `name in TypeScript: type`, or `[type, name in Rust]` if Rust's name is not the same in snake case. The name in
 * TypeScript may have a default (`maxFeePerGas ?? 0n`); `''` is the record itself.
 */

const number = { kind: 'number', rust: 'u64' }
const byte = { kind: 'number', rust: 'u8' }
const quantity = { kind: 'quantity', rust: 'u64' }
const word = { kind: 'quantity', rust: 'U256' }
const parity = { kind: 'quantity', rust: 'u8' }
const flag = { kind: 'flag', rust: 'bool' }
const hash = { kind: 'hex', rust: 'B256', bytes: 32 }
const address = { kind: 'hex', rust: 'Address', bytes: 20 }
const bloom = { kind: 'hex', rust: 'Bloom', bytes: 256 }
const bytes = { kind: 'hex', rust: 'Bytes' }
const text = { kind: 'text', rust: 'String' }
/** Absent means undefined in TypeScript. */
const optional = (item) => ({ kind: 'optional', item })
/** Absent means null in TypeScript. */
const nullable = (item) => ({ kind: 'nullable', item })
const list = (item) => ({ kind: 'list', item })
const pair = (first, second) => ({ kind: 'pair', first, second })
/** A Map in TypeScript, a HashMap in Rust. */
const map = (key, value) => ({ kind: 'map', key, value })

/** Each record follows those that it refers to. */
export const records = []

function define(type) {
  records.push(type)
  return type
}

/** Strings in TypeScript, variants of an enum in Rust. `isPart`: the enum has other variants too. */
const names = (rust, variants, isPart = false) => define({ kind: 'names', rust, variants, isPart })

/**
 * `ts` and `rust` name its types, which the generator declares if they are missing (`rust: 'tuple'` needs none). `unset`: fields that only
 * the Rust type has. `isShared`: many consecutive records have the same object, which never changes.
 */
const record = (name, types, fields) =>
  define({ kind: 'record', name, ...types, fields: Object.entries(fields).map(fieldOf) })

/** `{ kind, …fields }` in TypeScript, an enum in Rust, with tuple variants if `isTuple`. */
const union = (name, types, variants) =>
  define({
    kind: 'union',
    name,
    ...types,
    variants: Object.entries(variants).map(([tag, fields]) => ({
      tag,
      rust: tag[0].toUpperCase() + tag.slice(1),
      fields: Object.entries(fields).map(fieldOf),
    })),
  })

function fieldOf([ts, spec]) {
  const [type, rust] = Array.isArray(spec) ? spec : [spec]
  const plain = ts.replace(/ \?\? .*/, '')
  return { ts, plain, type, rust: rust ?? plain.replace(/^.*\./, '').replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`) }
}

/** A TypeScript type of a module. */
const protocol = (type) => `protocol.${type}`
const simulation = (type) => `simulation.${type}`

// Plans and their state: to Rust.

const fork = names(
  'plan::SpecId',
  { paris: 'MERGE', shanghai: 'SHANGHAI', cancun: 'CANCUN', prague: 'PRAGUE', osaka: 'OSAKA', amsterdam: 'AMSTERDAM' },
  true,
)

const opFork = names('plan::OpFork', {
  bedrock: 'Bedrock',
  regolith: 'Regolith',
  canyon: 'Canyon',
  ecotone: 'Ecotone',
  fjord: 'Fjord',
  granite: 'Granite',
  holocene: 'Holocene',
  isthmus: 'Isthmus',
  jovian: 'Jovian',
  karst: 'Karst',
  azul: 'Azul',
  beryl: 'Beryl',
  cobalt: 'Cobalt',
  denim: 'Denim',
})

const chainRules = record(
  'ChainRules',
  { to: 'rust', ts: simulation('ChainRules'), rust: 'plan::ChainRules' },
  { chainId: quantity, depositContract: optional(address) },
)

const blobParameters = record(
  'BlobParameters',
  { to: 'rust', ts: simulation('BlobParameters'), rust: 'plan::BlobParameters' },
  { target: number, max: number, baseFeeUpdateFraction: [quantity, 'update_fraction'] },
)

const blockRules = record(
  'BlockRules',
  { to: 'rust', ts: simulation('BlockRules'), rust: 'plan::BlockRules', isShared: true },
  { fork: [fork, 'spec'], opFork: [optional(opFork), 'op'], blob: optional(blobParameters) },
)

const parentHeader = record(
  'ParentHeader',
  { to: 'rust', ts: simulation('SimulationPlan'), rust: 'plan::ParentHeader' },
  {
    'base.hash': hash,
    'base.number': quantity,
    'base.timestamp': quantity,
    'base.gasLimit': quantity,
    'base.gasUsed': quantity,
    'base.baseFeePerGas ?? 0n': [word, 'base_fee'],
    'base.blobGasUsed ?? 0n': quantity,
    'base.excessBlobGas ?? 0n': quantity,
    'base.withdrawalsRoot': optional(hash),
    'base.slotNumber': optional(quantity),
    baseRules: [blockRules, 'rules'],
  },
)

const baseFeeParameters = record(
  'BaseFeeParameters',
  { to: 'rust', ts: simulation('BaseFeeParameters'), rust: 'plan::BaseFeeParameters', isShared: true },
  { elasticity: quantity, denominator: quantity, minimum: word },
)

const withdrawal = record(
  'Withdrawal',
  { to: 'rust', ts: protocol('Withdrawal'), rust: 'plan::Withdrawal' },
  { index: quantity, validatorIndex: quantity, address, amount: quantity },
)

const slots = optional(list(pair(hash, hash)))

const stateOverride = record(
  'StateOverride',
  { to: 'rust', ts: protocol('StateOverride'), rust: 'plan::StateOverride' },
  {
    address,
    balance: optional(word),
    nonce: optional(quantity),
    code: optional(bytes),
    movePrecompileToAddress: [optional(address), 'move_precompile_to'],
    state: slots,
    stateDiff: slots,
  },
)

const accessListEntry = record(
  'AccessListEntry',
  { to: 'rust', ts: protocol('AccessListEntry'), rust: 'tuple' },
  { address, storageKeys: list(hash) },
)

const authorization = record(
  'Authorization',
  { to: 'rust', ts: protocol('Authorization'), rust: 'plan::Authorization' },
  { chainId: word, address, nonce: quantity, yParity: parity, r: word, s: word, authority: optional(address) },
)

const sealedCall = record(
  'SealedCall',
  { to: 'rust', ts: simulation('SealedCall'), rust: 'plan::SealedCall' },
  { raw: bytes, mint: optional(word) },
)

const plannedCall = record(
  'PlannedCall',
  { to: 'rust', ts: simulation('PlannedCall'), rust: 'plan::PlannedCall' },
  {
    type: [number, 'tx_type'],
    from: address,
    to: nullable(address),
    input: bytes,
    value: word,
    nonce: optional(quantity),
    gas: optional(quantity),
    gasPrice: optional(word),
    shownGasPrice: optional(word),
    'maxFeePerGas ?? 0n': [word, 'max_fee'],
    'maxPriorityFeePerGas ?? 0n': [word, 'max_priority_fee'],
    'maxFeePerBlobGas ?? 0n': [word, 'max_blob_fee'],
    accessList: list(accessListEntry),
    blobVersionedHashes: [optional(list(hash)), 'blob_hashes'],
    authorizationList: [optional(list(authorization)), 'authorizations'],
    sealed: optional(sealedCall),
  },
)

const plannedBlock = record(
  'PlannedBlock',
  { to: 'rust', ts: simulation('PlannedBlock'), rust: 'plan::PlannedBlock' },
  {
    number: quantity,
    timestamp: quantity,
    gasLimit: quantity,
    feeRecipient: address,
    prevRandao: hash,
    baseFeePerGas: [optional(word), 'base_fee'],
    baseFeeParameters,
    blobBaseFee: optional(word),
    parentBeaconBlockRoot: optional(hash),
    extraData: bytes,
    rules: blockRules,
    withdrawals: list(withdrawal),
    'isExecuted ?? false': flag,
    stateOverrides: [list(stateOverride), 'overrides'],
    calls: list(plannedCall),
  },
)

const stepOptions = record(
  'StepOptions',
  { to: 'rust', ts: simulation('StepOptions'), rust: 'plan::StepOptions' },
  { stack: flag, memory: flag, storage: flag, returnData: flag, limit: number },
)

const recording = record(
  'Recording',
  { to: 'rust', ts: simulation('Recording'), rust: 'plan::Recording', isShared: true },
  {
    frames: flag,
    state: flag,
    'withoutCode ?? false': flag,
    'balances ?? false': flag,
    steps: optional(stepOptions),
    'uses ?? false': flag,
    'depends ?? false': flag,
    'effects ?? false': flag,
    'alone ?? false': flag,
    'later ?? 0': number,
  },
)

const probe = record(
  'Probe',
  { to: 'rust', ts: simulation('Probe'), rust: 'plan::Probe' },
  { block: number, call: number, to: address, input: bytes, 'isAfter ?? false': flag },
)

record(
  'Plan',
  { to: 'rust', ts: simulation('SimulationPlan'), rust: 'plan::Plan' },
  {
    rules: [chainRules, 'chain'],
    '': [parentHeader, 'base'],
    validation: flag,
    traceTransfers: flag,
    'listTouched ?? false': flag,
    'isTrial ?? false': flag,
    gasBudget: quantity,
    daFootprintScalar: optional(quantity),
    returnFullTransactions: [flag, 'full_transactions'],
    answerBytes: number,
    recording,
    'probes ?? []': list(probe),
    blocks: list(plannedBlock),
  },
)

const blockEnvironment = record(
  'BlockEnvironment',
  { to: 'rust', ts: simulation('BlockEnvironment'), rust: 'execution::BlockEnvironment' },
  {
    number: quantity,
    timestamp: quantity,
    parentHash: hash,
    gasLimit: quantity,
    feeRecipient: address,
    prevRandao: hash,
    baseFeePerGas: [quantity, 'base_fee'],
    parentBeaconBlockRoot: optional(hash),
    'excessBlobGas ?? 0n': quantity,
    slotNumber: optional(quantity),
    rules: blockRules,
  },
)

record(
  'BlockExecution',
  { to: 'rust', rust: 'execution::BlockExecution' },
  {
    rules: [chainRules, 'chain'],
    block: blockEnvironment,
    opening: flag,
    isSplit: flag,
    transactions: list(bytes),
    earlierReceipts: list(bytes),
    earlierGasUsed: quantity,
    earlierBlobGasUsed: quantity,
  },
)

const accountChange = record(
  'AccountChange',
  { to: 'both', ts: simulation('AccountChange'), rust: 'state::AccountChange', unset: { exists: 'false' } },
  {
    balance: optional(word),
    nonce: optional(quantity),
    code: optional(bytes),
    storageCleared: flag,
    storage: map(hash, hash),
  },
)

record(
  'Layer',
  { to: 'rust', ts: simulation('StateLayer'), rust: 'state::Layer' },
  { accounts: map(address, accountChange) },
)

const read = union(
  'Read',
  { to: 'both', ts: simulation('StateRead'), rust: 'state::Read', isTuple: true },
  {
    balance: { address },
    nonce: { address },
    code: { address },
    storage: { address, slot: hash },
    blockHash: { number: quantity },
  },
)

// Their results: to TypeScript.

const precompileFault = names('outcome::PrecompileFault', {
  outOfGas: 'OutOfGas',
  inputLength: 'InputLength',
  modexpLength: 'ModexpLength',
  pairingLength: 'PairingLength',
  blsPairingLength: 'BlsPairingLength',
  finalFlag: 'FinalFlag',
  fieldElement: 'FieldElement',
  notOnCurve: 'NotOnCurve',
  versionedHash: 'VersionedHash',
  kzgProof: 'KzgProof',
  blsFieldElement: 'BlsFieldElement',
  blsNotOnCurve: 'BlsNotOnCurve',
  g1Subgroup: 'G1Subgroup',
  g2Subgroup: 'G2Subgroup',
})

const halt = union(
  'Halt',
  { to: 'typescript', ts: simulation('Halt'), rust: 'outcome::Halt' },
  {
    outOfGas: {},
    invalidJump: {},
    reentrancySentry: {},
    returnDataOutOfBounds: {},
    stackUnderflow: { height: number, inputs: number },
    stackOverflow: {},
    writeProtection: { isPriced: flag },
    addressCollision: {},
    codeStorageOutOfGas: {},
    codeStartsWithEf: {},
    nonceOverflow: {},
    callTooDeep: {},
    insufficientBalance: {},
    balanceOverflow: {},
    precompileFailed: {},
    codeTooLarge: { size: number, limit: number },
    invalidOpcode: { opcode: text },
    precompile: { fault: precompileFault },
    other: { name: text },
  },
)

const writtenFailure = record(
  'WrittenFailure',
  { to: 'typescript' },
  { at: number, halt: optional(halt), isGasCapped: flag, returnData: bytes },
)

const touchedSlot = record(
  'TouchedSlot',
  { to: 'typescript', ts: simulation('TouchedSlot'), rust: 'tuple' },
  { address, slot: hash },
)

const touchedList = record(
  'TouchedList',
  { to: 'typescript', ts: simulation('TouchedList'), rust: 'outcome::TouchedList' },
  { accounts: list(address), slots: list(touchedSlot) },
)

const frameKind = names('outcome::FrameKind', {
  CALL: 'Call',
  CALLCODE: 'CallCode',
  DELEGATECALL: 'DelegateCall',
  STATICCALL: 'StaticCall',
  CREATE: 'Create',
  CREATE2: 'Create2',
  SELFDESTRUCT: 'SelfDestruct',
})

const frameLog = record(
  'FrameLog',
  { to: 'typescript', ts: simulation('FrameLog'), rust: 'outcome::FrameLog' },
  { position: number, address, topics: list(hash), data: bytes },
)

const namedContract = record(
  'NamedContract',
  { to: 'typescript', ts: simulation('NamedContract'), rust: 'outcome::NamedContract' },
  { address, codeSize: number, opcode: byte },
)

const counted = list(pair(hash, number))

const frameUses = record(
  'FrameUses',
  { to: 'typescript', ts: simulation('FrameUses'), rust: 'outcome::FrameUses' },
  {
    opcodes: list(pair(byte, number)),
    reads: list(pair(hash, hash)),
    writes: counted,
    transientReads: counted,
    transientWrites: counted,
    inspected: list(address),
    named: list(namedContract),
  },
)

const frame = record(
  'Frame',
  { to: 'typescript', ts: simulation('Frame'), rust: 'outcome::Frame' },
  {
    kind: frameKind,
    depth: number,
    from: address,
    to: optional(address),
    input: bytes,
    output: bytes,
    gas: quantity,
    gasUsed: quantity,
    value: optional(word),
    reverted: flag,
    halt: optional(halt),
    isPrecompile: flag,
    logs: list(frameLog),
    uses: optional(frameUses),
  },
)

const accountFacts = record(
  'AccountFacts',
  { to: 'typescript', ts: simulation('AccountFacts'), rust: 'outcome::AccountFacts' },
  { exists: flag, balance: word, nonce: quantity, codeHash: hash, code: optional(bytes) },
)

const recordedSlot = record(
  'RecordedSlot',
  { to: 'typescript', ts: simulation('RecordedSlot'), rust: 'outcome::RecordedSlot' },
  { slot: hash, isRead: flag, isAccessed: flag, before: hash, after: hash },
)

const recordedAccount = record(
  'RecordedAccount',
  { to: 'typescript', ts: simulation('RecordedAccount'), rust: 'outcome::RecordedAccount' },
  {
    address,
    isRead: flag,
    isAccessed: flag,
    isRemoved: flag,
    before: accountFacts,
    after: accountFacts,
    slots: list(recordedSlot),
  },
)

const probed = record(
  'Probed',
  { to: 'typescript', ts: simulation('Probed'), rust: 'outcome::Probed' },
  { before: optional(bytes), after: optional(bytes) },
)

const factKind = names('outcome::FactKind', {
  slot: 'Slot',
  balance: 'Balance',
  code: 'Code',
  blockHash: 'BlockHash',
  time: 'Time',
  number: 'Number',
  coinbase: 'Coinbase',
  prevRandao: 'PrevRandao',
  gasLimit: 'GasLimit',
  baseFee: 'BaseFee',
  blobBaseFee: 'BlobBaseFee',
  gasPrice: 'GasPrice',
  origin: 'Origin',
  gasLeft: 'GasLeft',
})

const decidingFact = record(
  'DecidingFact',
  { to: 'typescript', ts: simulation('DecidingFact'), rust: 'outcome::DecidingFact' },
  {
    kind: factKind,
    address: optional(address),
    slot: optional(hash),
    number: optional(quantity),
    value: word,
    reached: number,
    changed: number,
    blocks: number,
  },
)

const dependencies = record(
  'Dependencies',
  { to: 'typescript', ts: simulation('Dependencies'), rust: 'outcome::Dependencies' },
  { facts: list(decidingFact), isPartial: flag, isSameLater: flag },
)

const callRecord = record(
  'CallRecord',
  { to: 'typescript', ts: simulation('CallRecord'), rust: 'outcome::CallRecord', unset: { steps: 'Bytes::new()' } },
  {
    gas: quantity,
    gasUsed: quantity,
    frames: list(frame),
    accounts: list(recordedAccount),
    probed: list(probed),
    probeGas: quantity,
    preimages: list(bytes),
    dependencies: optional(dependencies),
    effects: optional(hash),
  },
)

record(
  'Written',
  { to: 'typescript' },
  {
    accounts: number,
    slots: number,
    touchedList: optional(touchedList),
    readList: optional(touchedList),
    gasUsed: quantity,
    failures: list(writtenFailure),
    ends: list(number),
    records: list(callRecord),
    steps: list(number),
  },
)

const log = record(
  'Log',
  {
    to: 'typescript',
    ts: simulation('ExecutedLog'),
    rust: 'outcome::ExecutedLog',
    unset: { synthetic: 'false', index: '0' },
  },
  { address, topics: list(hash), data: bytes },
)

const rollupReceipt = record(
  'RollupReceipt',
  { to: 'typescript', ts: simulation('RollupReceipt'), rust: 'execution::RollupReceipt' },
  {
    l1GasPrice: [word, 'l1_gas_price'],
    l1GasUsed: [word, 'l1_gas_used'],
    l1Fee: [word, 'l1_fee'],
    l1BaseFeeScalar: [optional(word), 'l1_base_fee_scalar'],
    l1BlobBaseFee: [optional(word), 'l1_blob_base_fee'],
    l1BlobBaseFeeScalar: [optional(word), 'l1_blob_base_fee_scalar'],
    operatorFeeScalar: optional(word),
    operatorFeeConstant: optional(word),
    daFootprintGasScalar: optional(quantity),
  },
)

const receipt = record(
  'Receipt',
  {
    to: 'typescript',
    ts: simulation('ExecutedReceipt'),
    rust: 'execution::ExecutionReceipt',
    unset: { bloom: 'Bloom::ZERO' },
  },
  {
    type: [number, 'tx_type'],
    succeeded: flag,
    cumulativeGasUsed: quantity,
    gasUsed: quantity,
    effectiveGasPrice: quantity,
    logs: list(log),
    contractAddress: nullable(address),
    blobGasUsed: optional(quantity),
    rollup: optional(rollupReceipt),
    encoded: bytes,
  },
)

const executionTransaction = record(
  'ExecutionTransaction',
  { to: 'typescript' },
  { hash, from: address, to: nullable(address), nonce: quantity },
)

record(
  'Executed',
  { to: 'typescript' },
  {
    layers: list(map(address, accountChange)),
    transactions: list(executionTransaction),
    receipts: list(receipt),
    gasUsed: quantity,
    blobGasUsed: quantity,
    receiptsRoot: hash,
    logsBloom: bloom,
  },
)

const transactionFault = union(
  'TransactionFault',
  { to: 'typescript', ts: simulation('TransactionFault'), rust: 'rejection::TransactionFault' },
  {
    nonceTooHigh: { nonce: quantity, expected: quantity },
    nonceTooLow: { nonce: quantity, expected: quantity },
    nonceHasMaxValue: { nonce: quantity },
    tipAboveFeeCap: { tip: word, cap: word },
    feeCapBelowBaseFee: { cap: word, baseFee: word },
    blobsUnsupported: {},
    blobsOfCreation: {},
    noBlobHashes: {},
    tooManyBlobs: {},
    blobHashVersion: { index: number },
    blobFeeCapTooLow: { cap: word, blobBaseFee: word },
    setCodeUnsupported: {},
    setCodeOfCreation: {},
    noAuthorizations: {},
    initCodeTooLarge: { size: number, limit: number },
    priceOverflow: {},
    insufficientFunds: { have: word, want: word },
    insufficientFundsForTransfer: {},
    intrinsicGas: { want: quantity },
    floorGas: { want: quantity },
  },
)

const requestQueue = names('rejection::RequestQueue', {
  withdrawal: 'Withdrawal',
  consolidation: 'Consolidation',
  builderDeposit: 'BuilderDeposit',
  builderExit: 'BuilderExit',
})

const rejection = union(
  'Rejection',
  { to: 'typescript', ts: simulation('Rejection'), rust: 'rejection::Rejection' },
  {
    transaction: { from: address, gas: quantity, fault: transactionFault },
    blockGasLimit: { left: quantity, asked: quantity },
    takenByPrecompile: { address },
    notPrecompile: { address },
    alreadyOverridden: { address },
    nativePrecompile: { address },
    depositLength: { length: number },
    requestQueue: { queue: requestQueue, halt: optional(halt) },
  },
)

// No rejection means that the answer is too long.
record('Rejected', { to: 'typescript' }, { rejection: optional(rejection), block: number, call: optional(number) })

record(
  'ExecutionRejected',
  { to: 'typescript' },
  { transaction: number, message: text, nativePrecompile: optional(address) },
)

// A sealed block's transactions as EIP-2718 bytes.
record('Encoded', { to: 'typescript' }, { transactions: list(bytes) })

// Sealed blocks to carry: to Rust. Their results: to TypeScript.

const deposit = record(
  'Deposit',
  { to: 'rust', ts: simulation('Deposit'), rust: 'carry::Deposit' },
  { sourceHash: hash, from: address, mint: word, isSystemTransaction: flag },
)

const sealedTransaction = record(
  'SealedTransaction',
  { to: 'rust', ts: simulation('SealedTransaction'), rust: 'carry::SealedTransaction' },
  {
    type: [number, 'tx_type'],
    hash,
    chainId: optional(word),
    nonce: quantity,
    gas: quantity,
    gasPrice: optional(word),
    maxFeePerGas: [optional(word), 'max_fee'],
    maxPriorityFeePerGas: [optional(word), 'max_priority_fee'],
    maxFeePerBlobGas: [optional(word), 'max_blob_fee'],
    to: nullable(address),
    value: word,
    input: bytes,
    accessList: list(accessListEntry),
    blobVersionedHashes: [list(hash), 'blob_hashes'],
    authorizationList: [list(authorization), 'authorizations'],
    v: word,
    r: word,
    s: word,
    deposit: optional(deposit),
  },
)

record(
  'SealedBlock',
  { to: 'rust', rust: 'carry::SealedBlock' },
  {
    rules: [chainRules, 'chain'],
    hash,
    block: blockEnvironment,
    transactions: list(sealedTransaction),
    earlierReceipts: list(bytes),
    earlierGasUsed: quantity,
    earlierBlobGasUsed: quantity,
    withdrawals: list(withdrawal),
    gasUsed: quantity,
    transactionsRoot: hash,
    receiptsRoot: hash,
    logsBloom: bloom,
    withdrawalsRoot: optional(hash),
    requestsHash: optional(hash),
    blockAccessListHash: optional(hash),
    blobGasUsed: optional(quantity),
  },
)

record(
  'ListedBlock',
  { to: 'rust', ts: simulation('ListedBlock'), rust: 'carry::ListedBlock' },
  { hash, number: quantity, blockAccessListHash: hash },
)

const difference = names('carry::Difference', {
  transactionHash: 'TransactionHash',
  transactionsRoot: 'TransactionsRoot',
  withdrawalsRoot: 'WithdrawalsRoot',
  transaction: 'Transaction',
  nativePrecompile: 'NativePrecompile',
  gasUsed: 'GasUsed',
  receiptsRoot: 'ReceiptsRoot',
  logsBloom: 'LogsBloom',
  requestsHash: 'RequestsHash',
  blockAccessListHash: 'BlockAccessListHash',
  blobGasUsed: 'BlobGasUsed',
  parent: 'Parent',
  conflictingValue: 'ConflictingValue',
})

const sampled = record(
  'Sampled',
  { to: 'typescript', ts: simulation('Sampled'), rust: 'carry::Sampled' },
  { read, value: word },
)

union(
  'Carried',
  { to: 'typescript', ts: simulation('Carried'), rust: 'carry::Carried' },
  {
    carried: { written: number, sample: list(sampled) },
    differs: { difference, detail: text },
  },
)
