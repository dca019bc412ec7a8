/** The part of JSON Schema (draft 7) that the document uses. */
export interface JsonSchema {
  $ref?: string
  title?: string
  description?: string
  type?: 'object' | 'array' | 'string' | 'boolean' | 'integer' | 'null'
  pattern?: string
  enum?: readonly string[]
  const?: string
  default?: boolean
  properties?: Record<string, JsonSchema>
  required?: readonly string[]
  additionalProperties?: boolean | JsonSchema
  propertyNames?: JsonSchema
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  not?: JsonSchema
}

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })
const described = (name: string, description: string): JsonSchema => ({ ...ref(name), description })
export const list = (name: string): JsonSchema => ({ type: 'array', items: ref(name) })
export const flag = (description: string): JsonSchema => ({ type: 'boolean', description })
const each = (schema: string, ...names: string[]): Record<string, JsonSchema> =>
  Object.fromEntries(names.map((name) => [name, ref(schema)]))
/** Ignores other fields, unless they look like typos of these. */
export const object = (properties: Record<string, JsonSchema>, required?: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  ...(required && { required }),
})
/** An object with all of these fields. */
const whole = (properties: Record<string, JsonSchema>): JsonSchema => object(properties, Object.keys(properties))
/** Rejects other fields. */
const closed = (schema: JsonSchema): JsonSchema => ({ ...schema, additionalProperties: false })

const INDEX: JsonSchema = {
  description: "The number of the block's transactions before this position",
  oneOf: [{ type: 'integer' }, ref('Quantity')],
}

const slots: JsonSchema = { type: 'object', propertyNames: ref('Hash'), additionalProperties: ref('Hash') }

/** `components.schemas`, named as in execution-apis where it has them. */
export const SCHEMAS: Record<string, JsonSchema> = {
  Quantity: {
    type: 'string',
    pattern: '^0x(0|[1-9a-fA-F][0-9a-fA-F]*)$',
    description: 'Unsigned integer in hex, no leading zeros',
  },
  Bytes: { type: 'string', pattern: '^0x([0-9a-fA-F]{2})*$', description: 'Whole bytes in hex' },
  Address: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$', description: '20 bytes in hex, any case' },
  Hash: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$', description: '32 bytes in hex' },
  BlockParameter: {
    title: 'Block',
    description: 'Tag, number, hash, or EIP-1898 object',
    oneOf: [
      { type: 'string', enum: ['latest', 'pending', 'safe', 'finalized', 'earliest'] },
      ref('Quantity'),
      ref('Hash'),
      object({ blockNumber: ref('Quantity') }, ['blockNumber']),
      object({ blockHash: ref('Hash'), requireCanonical: { type: 'boolean', default: false } }, ['blockHash']),
    ],
  },
  StateParameter: {
    title: 'State',
    description: 'A block (the state after it), or a position in it (the state after that many of its transactions)',
    oneOf: [
      ref('BlockParameter'),
      object({ blockNumber: { oneOf: [ref('Quantity'), { type: 'string' }] }, transactionIndex: INDEX }, [
        'blockNumber',
        'transactionIndex',
      ]),
      object({ blockHash: ref('Hash'), transactionIndex: INDEX }, ['blockHash', 'transactionIndex']),
    ],
  },
  SimulationPayload: object(
    {
      blockStateCalls: {
        ...list('BlockStateCall'),
        minItems: 1,
        maxItems: 256,
        description: 'One entry per simulated block; gaps between their numbers are filled with empty blocks',
      },
      traceTransfers: { ...flag('Native-currency transfers appear as logs of 0xeeee…eeee (ERC-7528)'), default: false },
      validation: { ...flag('Nonces, balances and fees are enforced as in a real block'), default: false },
      returnFullTransactions: { ...flag('`transactions` holds objects, not hashes'), default: false },
    },
    ['blockStateCalls'],
  ),
  BlockStateCall: object({
    blockOverrides: ref('BlockOverrides'),
    stateOverrides: {
      type: 'object',
      description: 'Keyed by address; applied before the calls of this block',
      propertyNames: ref('Address'),
      additionalProperties: ref('AccountOverride'),
    },
    calls: list('Call'),
  }),
  BlockOverrides: closed(
    object({
      number: described('Quantity', 'Above the number of the previous block; default: one more'),
      time: described('Quantity', 'Seconds since 1970, later than the previous block; default: one block time later'),
      timestamp: described('Quantity', 'Another name for `time`'),
      gasLimit: described('Quantity', 'Default: as in the previous block'),
      feeRecipient: described('Address', 'Default: as in the previous block'),
      prevRandao: described('Hash', 'Default: zero'),
      baseFeePerGas: described(
        'Quantity',
        'Default: 0; with `validation`, computed from the previous block (EIP-1559)',
      ),
      blobBaseFee: described('Quantity', 'The result of BLOBBASEFEE; default: computed from the excess blob gas'),
      beaconRoot: described('Hash', 'EIP-4788; default: zero'),
      withdrawals: list('Withdrawal'),
      difficulty: described('Quantity', 'Without effect after the Merge'),
    }),
  ),
  Withdrawal: closed(
    whole({
      ...each('Quantity', 'index', 'validatorIndex'),
      address: ref('Address'),
      amount: described('Quantity', 'Gwei'),
    }),
  ),
  AccountOverride: closed(
    object({
      balance: described('Quantity', 'Wei'),
      nonce: ref('Quantity'),
      code: ref('Bytes'),
      state: { ...slots, description: 'Replaces the whole storage; never together with `stateDiff` or `storage`' },
      stateDiff: { ...slots, description: 'Replaces single slots' },
      storage: { ...slots, description: 'Another name for `stateDiff`' },
      movePrecompileToAddress: described('Address', 'The address to move the precompile at this address to'),
    }),
  ),
  Call: object({
    type: { description: 'Ignored: the type follows from the other fields' },
    from: described('Address', 'Default: the zero address'),
    to: described('Address', 'Absent: a contract is created'),
    gas: described('Quantity', 'Default: the gas left in the block and the request'),
    value: described('Quantity', 'Wei'),
    nonce: described('Quantity', 'Default: the nonce of `from` at this point'),
    input: ref('Bytes'),
    data: described('Bytes', 'Another name for `input`, which takes precedence'),
    gasPrice: described('Quantity', 'Never together with `maxFeePerGas` or `maxPriorityFeePerGas`'),
    maxFeePerGas: ref('Quantity'),
    maxPriorityFeePerGas: ref('Quantity'),
    maxFeePerBlobGas: ref('Quantity'),
    accessList: list('AccessListEntry'),
    blobVersionedHashes: list('Hash'),
    authorizationList: list('Authorization'),
    chainId: described('Quantity', 'Must be the id of the chain'),
  }),
  AccessListEntry: whole({ address: ref('Address'), storageKeys: list('Hash') }),
  Authorization: whole({ address: ref('Address'), ...each('Quantity', 'chainId', 'nonce', 'yParity', 'r', 's') }),
  SimulatedBlock: {
    type: 'object',
    description:
      'A block object like that of `eth_getBlockByNumber`, with `calls`. `stateRoot` is zero; `hash` is the hash of the returned header',
    required: [
      'number',
      'hash',
      'parentHash',
      'timestamp',
      'gasLimit',
      'gasUsed',
      'stateRoot',
      'transactions',
      'calls',
    ],
    properties: {
      ...each(
        'Quantity',
        'number',
        'timestamp',
        'gasLimit',
        'gasUsed',
        'baseFeePerGas',
        'blobGasUsed',
        'excessBlobGas',
      ),
      ...each('Quantity', 'difficulty', 'size', 'slotNumber'),
      ...each('Hash', 'hash', 'parentHash', 'mixHash', 'sha3Uncles', 'stateRoot', 'transactionsRoot', 'receiptsRoot'),
      ...each('Hash', 'withdrawalsRoot', 'parentBeaconBlockRoot', 'requestsHash', 'blockAccessListHash'),
      ...each('Bytes', 'extraData', 'logsBloom', 'nonce'),
      miner: ref('Address'),
      transactions: {
        type: 'array',
        description: 'Hashes; with `returnFullTransactions`, objects',
        items: { oneOf: [ref('Hash'), { type: 'object' }] },
      },
      uncles: { type: 'array', maxItems: 0 },
      withdrawals: list('Withdrawal'),
      calls: list('SimulatedCall'),
    },
  },
  SimulatedCall: {
    type: 'object',
    required: ['status', 'returnData', 'gasUsed', 'maxUsedGas', 'logs'],
    properties: {
      status: { type: 'string', enum: ['0x0', '0x1'] },
      returnData: ref('Bytes'),
      gasUsed: described('Quantity', 'After refunds'),
      maxUsedGas: described('Quantity', 'Before refunds'),
      logs: list('SimulatedLog'),
      error: {
        description: 'Only if the call failed. With `dialect=ethereum`, an object',
        oneOf: [
          { type: 'string', description: 'The decoded revert reason, or why the EVM halted' },
          {
            type: 'object',
            required: ['code', 'message'],
            properties: { code: { type: 'integer' }, message: { type: 'string' }, data: ref('Bytes') },
          },
        ],
      },
    },
  },
  SimulatedLog: {
    type: 'object',
    properties: {
      address: ref('Address'),
      topics: list('Hash'),
      data: ref('Bytes'),
      blockNumber: ref('Quantity'),
      blockHash: ref('Hash'),
      blockTimestamp: ref('Quantity'),
      transactionHash: ref('Hash'),
      transactionIndex: ref('Quantity'),
      logIndex: ref('Quantity'),
      removed: { type: 'boolean' },
    },
  },
}
