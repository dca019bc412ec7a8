import {
  type Address,
  DIALECTS,
  type Dialect,
  decodeInteger,
  decodeList,
  decodeObject,
  decodeText,
  type Hash,
  type Hex,
  refuseUnknownFields,
} from '@upfront/protocol'
import { type LocalAccount, recoverTypedDataAddress, zeroHash } from 'viem'

/** The methods that receipts cover: `eth_simulateV1` or `upfront_simulate` as JSON-RPC, or `GET /v1/preview`. */
export const RECEIPT_METHODS = ['eth_simulateV1', 'upfront_simulate', 'preview'] as const
export type ReceiptMethod = (typeof RECEIPT_METHODS)[number]

/**
 * A seller's statement about one paid answer. Hashes of JSON are `jsonHash`. Hex is lower case; quantities are decimal strings, amounts in
 * the asset's smallest unit.
 */
export interface Receipt {
  payer: Address
  /** Nonce of the Permit2 authorization. With `payer` it identifies the settlement on chain. */
  nonce: string
  /** The hash that the buyer signed: see `authorizationHash`. */
  authorizationHash: Hash
  method: ReceiptMethod
  /** How errors are worded in the answer. */
  dialect: Dialect
  /** Hash of `{ method, params }`. The params of a preview are its query without `witness`. */
  requestHash: Hash
  /** Hash of `result`. For a preview: of the answer without `charge`, `receipt` and `witness`. */
  resultHash: Hash
  /** Zero if the answer has no witness. */
  witnessHash: Hash
  block: ReceiptBlock
  usage: ReceiptUsage
  /** As in the 402. */
  priceListHash: Hash
  /** For this call. */
  amount: string
  /** For the whole request, as signed. */
  maximum: string
  /** Sum of the charges of earlier calls in the batch. */
  chargedBefore: string
  /** Decimals of the asset. */
  decimals: number
  asset: Address
  /** CAIP-2. */
  network: string
  payTo: Address
  /** Unix time, in seconds. */
  issuedAt: number
}

/** The block and state that was simulated on. */
export interface ReceiptBlock {
  /** Id of the simulated chain. The payment may be on another chain. */
  chainId: string
  /** Parent of the first simulated block. On pre-confirmed state: parent of the block under construction. */
  number: string
  hash: Hash
  /** `pending`: the node's own block under construction. */
  state: 'canonical' | 'preconfirmed' | 'pending'
  /** Payload id of the Flashblocks stream on pre-confirmed state, a digest of the block on `pending`, otherwise empty. */
  payloadId: Hex
  /** Index of the newest flashblock in the state; 0 without pre-confirmed state. */
  flashblock: number
  /** Executed transactions of the block under construction, in order. */
  transactions: Hash[]
}

export interface ReceiptUsage {
  /** Gas of each call, in the order of the answer; then what else counts as gas: see `gasBesideCalls`. */
  gas: string[]
  accounts: number
  slots: number
  witnessBytes: number
}

export interface SignedReceipt extends Receipt {
  /** Address of the seller's receipt key. */
  signer: Address
  /** EIP-712, 65 bytes. */
  signature: Hex
}

/** JSON type, pattern and EIP-712 type of each kind of field. */
const KINDS = {
  address: { type: 'address', pattern: /^0x[0-9a-f]{40}$/ },
  bytes32: { type: 'bytes32', pattern: /^0x[0-9a-f]{64}$/ },
  bytes: { type: 'bytes', pattern: /^0x(?:[0-9a-f]{2}){0,64}$/ },
  uint256: { type: 'uint256', pattern: /^(?:0|[1-9]\d{0,77})$/ },
  network: { type: 'string', pattern: /^eip155:[1-9]\d{0,15}$/ },
  method: { type: 'string', pattern: wordOf(RECEIPT_METHODS) },
  dialect: { type: 'string', pattern: wordOf(DIALECTS) },
  state: { type: 'string', pattern: wordOf(['canonical', 'preconfirmed', 'pending']) },
} as const

type Field = { name: string } & (
  | { kind: keyof typeof KINDS; list?: true }
  /** A safe integer. */
  | { kind: 'integer' }
  | { kind: 'struct'; type: 'Block' | 'Usage' }
)

/** Fields in signing order. */
const FIELDS: Record<'Receipt' | 'Block' | 'Usage', readonly Field[]> = {
  Receipt: [
    { name: 'payer', kind: 'address' },
    { name: 'nonce', kind: 'uint256' },
    { name: 'authorizationHash', kind: 'bytes32' },
    { name: 'method', kind: 'method' },
    { name: 'dialect', kind: 'dialect' },
    { name: 'requestHash', kind: 'bytes32' },
    { name: 'resultHash', kind: 'bytes32' },
    { name: 'witnessHash', kind: 'bytes32' },
    { name: 'block', kind: 'struct', type: 'Block' },
    { name: 'usage', kind: 'struct', type: 'Usage' },
    { name: 'priceListHash', kind: 'bytes32' },
    { name: 'amount', kind: 'uint256' },
    { name: 'maximum', kind: 'uint256' },
    { name: 'chargedBefore', kind: 'uint256' },
    { name: 'decimals', kind: 'integer' },
    { name: 'asset', kind: 'address' },
    { name: 'network', kind: 'network' },
    { name: 'payTo', kind: 'address' },
    { name: 'issuedAt', kind: 'integer' },
  ],
  Block: [
    { name: 'chainId', kind: 'uint256' },
    { name: 'number', kind: 'uint256' },
    { name: 'hash', kind: 'bytes32' },
    { name: 'state', kind: 'state' },
    { name: 'payloadId', kind: 'bytes' },
    { name: 'flashblock', kind: 'integer' },
    { name: 'transactions', kind: 'bytes32', list: true },
  ],
  Usage: [
    { name: 'gas', kind: 'uint256', list: true },
    { name: 'accounts', kind: 'integer' },
    { name: 'slots', kind: 'integer' },
    { name: 'witnessBytes', kind: 'integer' },
  ],
}

/** EIP-712 types of a receipt. */
export const RECEIPT_TYPES = {
  Receipt: FIELDS.Receipt.map(typeOf),
  Block: FIELDS.Block.map(typeOf),
  Usage: FIELDS.Usage.map(typeOf),
}

/** EIP-712 domain. `chainId` is that of the payment's network. */
export const RECEIPT_DOMAIN = { name: 'Upfront receipt', version: '1' } as const

/** The witness hash of an answer without a witness. */
export const NO_WITNESS: Hash = zeroHash

export async function signReceipt(receipt: Receipt, account: LocalAccount): Promise<SignedReceipt> {
  const signature = await account.signTypedData(typedData(receipt))
  return { ...receipt, signer: account.address.toLowerCase() as Address, signature }
}

/** The address that made the signature. @throws Error if it is not a valid signature */
export async function signerOf({ signature, ...receipt }: SignedReceipt): Promise<Address> {
  return (await recoverTypedDataAddress({ ...typedData(receipt), signature })).toLowerCase() as Address
}

/** @throws Error that names the field */
export function decodeReceipt(value: unknown, field = 'receipt'): SignedReceipt {
  const { signer, signature, ...receipt } = decodeObject(value, field)
  assertField(signer, 'address', `${field}.signer`)
  // Signatures have a single encoding: v is 27 or 28.
  decodeText(signature, /^0x[0-9a-f]{128}1[bc]$/, `${field}.signature`)
  assertStruct(receipt, 'Receipt', field)
  // ERC-20 decimals are a uint8. Larger values would cost unbounded work.
  if ((receipt.decimals as number) > 255) throw new Error(`${field}.decimals: expected at most 255`)
  return value as SignedReceipt
}

function typedData(receipt: Receipt) {
  return {
    domain: { ...RECEIPT_DOMAIN, chainId: Number(receipt.network.slice('eip155:'.length)) },
    types: RECEIPT_TYPES,
    primaryType: 'Receipt',
    message: messageOf(receipt as unknown as Record<string, unknown>, 'Receipt'),
  } as const
}

function messageOf(value: Record<string, unknown>, struct: keyof typeof FIELDS): Record<string, unknown> {
  const message: Record<string, unknown> = {}
  for (const field of FIELDS[struct]) {
    const given = value[field.name]
    message[field.name] =
      field.kind === 'struct'
        ? messageOf(given as Record<string, unknown>, field.type)
        : field.kind === 'uint256'
          ? Array.isArray(given)
            ? given.map(BigInt)
            : BigInt(given as string)
          : field.kind === 'integer'
            ? BigInt(given as number)
            : given
  }
  return message
}

function assertStruct(value: unknown, struct: keyof typeof FIELDS, at: string): void {
  const object = decodeObject(value, at)
  const fields = FIELDS[struct]
  refuseUnknownFields(
    object,
    at,
    fields.map(({ name }) => name),
  )
  for (const field of fields) {
    const given = object[field.name]
    const place = `${at}.${field.name}`
    if (field.kind === 'struct') assertStruct(given, field.type, place)
    else if (field.kind === 'integer') decodeInteger(given, place)
    else if (field.list === undefined) assertField(given, field.kind, place)
    else
      for (const [index, item] of decodeList(given, place).entries())
        assertField(item, field.kind, `${place}[${index}]`)
  }
}

function assertField(value: unknown, kind: keyof typeof KINDS, field: string): void {
  const text = decodeText(value, KINDS[kind].pattern, field)
  if (kind === 'uint256' && BigInt(text) >= 1n << 256n) throw new Error(`${field}: expected a number below 2^256`)
}

function typeOf(field: Field): { name: string; type: string } {
  if (field.kind === 'struct') return { name: field.name, type: field.type }
  if (field.kind === 'integer') return { name: field.name, type: 'uint256' }
  return { name: field.name, type: KINDS[field.kind].type + (field.list === undefined ? '' : '[]') }
}

function wordOf(words: readonly string[]): RegExp {
  return new RegExp(`^(?:${words.join('|')})$`)
}
