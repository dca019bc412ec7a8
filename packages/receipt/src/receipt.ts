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
import { hashTypedData, type LocalAccount, recoverTypedDataAddress, zeroHash } from 'viem'

/** What a receipt is about: `eth_simulateV1` or `upfront_simulate` as JSON-RPC, or `GET /v1/preview`. */
export const RECEIPT_METHODS = ['eth_simulateV1', 'upfront_simulate', 'preview'] as const
export type ReceiptMethod = (typeof RECEIPT_METHODS)[number]

/**
 * What a seller states about one paid answer. All hashes of JSON are `jsonHash`. Hex is lower case; quantities are decimal
 * strings, amounts in the asset's smallest unit.
 */
export interface Receipt {
  payer: Address
  /** Of the Permit2 authorization: with `payer` it finds the settlement on chain. */
  nonce: string
  /** The hash that the buyer signed: see `authorizationHash`. */
  authorizationHash: Hash
  method: ReceiptMethod
  /** How the answer words errors. */
  dialect: Dialect
  /** Of `{ method, params }`; the params of a preview are its query, `witness` aside. */
  requestHash: Hash
  /** Of the `result`; of a preview, of the answer without `charge`, `receipt` and `witness`. */
  resultHash: Hash
  /** Zero where the answer brings no witness. */
  witnessHash: Hash
  block: ReceiptBlock
  usage: ReceiptUsage
  /** As in the 402. */
  priceListHash: Hash
  /** For this call. */
  amount: string
  /** For the whole request, as signed. */
  maximum: string
  /** What the calls before it in the same batch cost. */
  chargedBefore: string
  /** Of the asset. */
  decimals: number
  asset: Address
  /** CAIP-2. */
  network: string
  payTo: Address
  /** Seconds since 1970. */
  issuedAt: number
}

/** What was simulated on. */
export interface ReceiptBlock {
  /** Of the chain that is simulated; payments may be made on another one. */
  chainId: string
  /** The block that the first simulated one follows. On pre-confirmed state the parent of the block under construction. */
  number: string
  hash: Hash
  /** `pending`: the node's own block under construction. */
  state: 'canonical' | 'preconfirmed' | 'pending'
  /** On pre-confirmed state that of the stream; on `pending` a digest of that block; else empty. */
  payloadId: Hex
  /** The newest one in the state; 0 without pre-confirmed state. */
  flashblock: number
  /** Of the block under construction, those that had been executed, in order. */
  transactions: Hash[]
}

export interface ReceiptUsage {
  /** Of each call, in the order of the answer; then what else counts as gas: see `gasBesideCalls`. */
  gas: string[]
  accounts: number
  slots: number
  witnessBytes: number
}

export interface SignedReceipt extends Receipt {
  /** The address of the seller's receipt key. */
  signer: Address
  /** EIP-712, 65 bytes. */
  signature: Hex
}

/** The JSON type, the pattern and the EIP-712 type of each kind of field. */
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

/** In the order in which they are signed. */
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

/** EIP-712 domain; `chainId` is that of the network on which is paid. */
export const RECEIPT_DOMAIN = { name: 'Upfront receipt', version: '1' } as const

/** No witness. */
export const NO_WITNESS: Hash = zeroHash

export async function signReceipt(receipt: Receipt, account: LocalAccount): Promise<SignedReceipt> {
  const signature = await account.signTypedData(typedData(receipt))
  return { ...receipt, signer: account.address.toLowerCase() as Address, signature }
}

/** The address whose key made the signature. @throws Error where it is no signature */
export async function signerOf({ signature, ...receipt }: SignedReceipt): Promise<Address> {
  return (await recoverTypedDataAddress({ ...typedData(receipt), signature })).toLowerCase() as Address
}

/** What the seller signed. */
export function receiptHash(receipt: Receipt): Hash {
  return hashTypedData(typedData(receipt))
}

/** @throws Error that names the field */
export function decodeReceipt(value: unknown, field = 'receipt'): SignedReceipt {
  const { signer, signature, ...receipt } = decodeObject(value, field)
  demand(signer, 'address', `${field}.signer`)
  // Only one way to write a signature: v is 27 or 28.
  decodeText(signature, /^0x[0-9a-f]{128}1[bc]$/, `${field}.signature`)
  demandStruct(receipt, 'Receipt', field)
  // ERC-20 has a uint8; more would be work without end.
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

function demandStruct(value: unknown, struct: keyof typeof FIELDS, at: string): void {
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
    if (field.kind === 'struct') demandStruct(given, field.type, place)
    else if (field.kind === 'integer') decodeInteger(given, place)
    else if (field.list === undefined) demand(given, field.kind, place)
    else for (const [index, item] of decodeList(given, place).entries()) demand(item, field.kind, `${place}[${index}]`)
  }
}

function demand(value: unknown, kind: keyof typeof KINDS, field: string): void {
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
