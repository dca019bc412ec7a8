import { decodeBytes, decodeFixedBytes, decodeQuantity, UpstreamFault } from '@upfront/node'
import type { AccessListEntry, Address, Authorization, Hash, Withdrawal } from '@upfront/protocol'
import type { SealedTransaction } from '../engine/block-carrier.js'

const DEPOSIT = 0x7e
const NEWEST_TYPE = 4

/** An unknown transaction type, which can't be executed. */
export class UnknownTransactionType extends Error {
  override readonly name = 'UnknownTransactionType'
}

/**
 * Decodes a block's transaction as JSON-RPC returns it. Unknown fields are ignored: nodes add their own.
 * @throws UpstreamFault that names the field; UnknownTransactionType
 */
export function sealedTransactionFromRpc(value: unknown, index: number): SealedTransaction {
  const field = fieldsOf(value, `transactions[${index}]`)
  const type = Number(field('type', (given) => decodeQuantity(given ?? '0x0', 8)))
  const common = {
    type,
    hash: field('hash', word),
    gas: field('gas', (given) => decodeQuantity(given, 64)),
    to: field('to', (given) => (given === null || given === undefined ? null : decodeFixedBytes(given, 20))),
    value: field('value', quantity),
    input: field('input', decodeBytes),
    accessList: [],
    blobVersionedHashes: [],
    authorizationList: [],
  }
  if (type === DEPOSIT) {
    return {
      ...common,
      // JSON-RPC shows the depositor's nonce, which is not part of the deposit.
      nonce: 0n,
      ...{ v: 0n, r: 0n, s: 0n },
      deposit: {
        sourceHash: field('sourceHash', word),
        from: field('from', (given) => decodeFixedBytes(given, 20)),
        mint: field('mint', (given) => decodeQuantity(given ?? '0x0', 128)),
        isSystemTransaction: field('isSystemTx', (given) => given === true),
      },
    }
  }
  if (type > NEWEST_TYPE) throw new UnknownTransactionType(`transactions[${index}] is of type 0x${type.toString(16)}`)
  return {
    ...common,
    nonce: field('nonce', (given) => decodeQuantity(given, 64)),
    ...(type > 0 && {
      chainId: field('chainId', quantity),
      accessList: field('accessList', (given) => list(given ?? [], accessListEntry)),
    }),
    // For later types, `gasPrice` is the effective price, not a field of the transaction.
    ...(type < 2
      ? { gasPrice: field('gasPrice', quantity) }
      : {
          maxFeePerGas: field('maxFeePerGas', quantity),
          maxPriorityFeePerGas: field('maxPriorityFeePerGas', quantity),
        }),
    ...(type === 3 && {
      maxFeePerBlobGas: field('maxFeePerBlobGas', quantity),
      blobVersionedHashes: field('blobVersionedHashes', (given) => list(given, word)),
    }),
    ...(type === 4 && { authorizationList: field('authorizationList', (given) => list(given, authorization)) }),
    v: type === 0 ? field('v', quantity) : field('yParity', (given, { v }) => quantity(given ?? v)),
    r: field('r', quantity),
    s: field('s', quantity),
  }
}

/** The sender that the node names, unverified: only the signature proves it. @throws UpstreamFault */
export function senderFromRpc(transaction: unknown): Address {
  return decodeFixedBytes(asObject(transaction, 'a transaction').from, 20)
}

/** Decodes an EIP-4895 withdrawal. @throws UpstreamFault that names the field */
export function withdrawalFromRpc(value: unknown, index: number): Withdrawal {
  const field = fieldsOf(value, `withdrawals[${index}]`)
  const number = (given: unknown) => decodeQuantity(given, 64)
  return {
    index: field('index', number),
    validatorIndex: field('validatorIndex', number),
    address: field('address', (given) => decodeFixedBytes(given, 20)),
    amount: field('amount', number),
  }
}

type Fields = Record<string, unknown>

function fieldsOf(value: unknown, place: string) {
  const fields = asObject(value, place)
  return <T>(name: string, decode: (given: unknown, fields: Fields) => T): T => {
    try {
      return decode(fields[name], fields)
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error
      throw new UpstreamFault('malformed', `${place}.${name}: ${error.message}`)
    }
  }
}

function asObject(value: unknown, place: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new UpstreamFault('malformed', `${place}: expected an object`)
}

function list<T>(value: unknown, decode: (item: unknown) => T): T[] {
  if (!Array.isArray(value)) throw new UpstreamFault('malformed', 'expected a list')
  return value.map(decode)
}

function quantity(value: unknown): bigint {
  return decodeQuantity(value)
}

function word(value: unknown): Hash {
  return decodeFixedBytes(value, 32) as Hash
}

function accessListEntry(value: unknown): AccessListEntry {
  const { address, storageKeys } = asObject(value, 'an entry')
  return { address: decodeFixedBytes(address, 20), storageKeys: list(storageKeys, word) }
}

function authorization(value: unknown): Authorization {
  const { chainId, address, nonce, yParity, v, r, s } = asObject(value, 'an entry')
  return {
    chainId: quantity(chainId),
    address: decodeFixedBytes(address, 20),
    nonce: decodeQuantity(nonce, 64),
    yParity: decodeQuantity(yParity ?? v, 8),
    r: quantity(r),
    s: quantity(s),
  }
}
