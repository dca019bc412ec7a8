import type { Hex } from '@upfront/protocol'
import { serializeTransaction as serialize, type TransactionSerializable, toRlp } from 'viem'

type RpcTransaction = Record<string, Hex> & {
  accessList?: { address: Hex; storageKeys: Hex[] }[]
  authorizationList?: Record<'chainId' | 'address' | 'nonce' | 'yParity' | 'r' | 's', Hex>[]
}

/** EIP-2718 bytes of a transaction from JSON-RPC. */
export function signedBytes(shown: unknown): Hex {
  const tx = shown as RpcTransaction
  if (tx.type === '0x7e') return depositBytes(tx)
  const field = (name: string): Hex => tx[name] ?? '0x0'
  const shared = {
    nonce: Number(field('nonce')),
    gas: BigInt(field('gas')),
    value: BigInt(field('value')),
    data: field('input'),
    ...(tx.to && { to: tx.to }),
    ...(tx.chainId && { chainId: Number(tx.chainId) }),
  }
  const prices = {
    maxFeePerGas: BigInt(field('maxFeePerGas')),
    maxPriorityFeePerGas: BigInt(field('maxPriorityFeePerGas')),
  }
  const signature = { r: field('r'), s: field('s'), v: BigInt(field('v')) }
  const accessList = tx.accessList ?? []
  const bytesOf = (fields: object) => serialize(fields as TransactionSerializable, signature)
  switch (tx.type) {
    case '0x0':
      return bytesOf({ ...shared, type: 'legacy', gasPrice: BigInt(field('gasPrice')) })
    case '0x1':
      return bytesOf({ ...shared, type: 'eip2930', accessList, gasPrice: BigInt(field('gasPrice')) })
    case '0x2':
      return bytesOf({ ...shared, ...prices, type: 'eip1559', accessList })
    default:
      return bytesOf({
        ...shared,
        ...prices,
        type: 'eip7702',
        accessList,
        authorizationList: tx.authorizationList?.map((each) => ({
          address: each.address,
          chainId: Number(each.chainId),
          nonce: Number(each.nonce),
          yParity: Number(each.yParity),
          r: each.r,
          s: each.s,
        })),
      })
  }
}

function depositBytes(tx: RpcTransaction): Hex {
  const number = (value: Hex | undefined): Hex => {
    const hex = BigInt(value ?? 0).toString(16)
    return hex === '0' ? '0x' : `0x${hex.padStart(hex.length + (hex.length % 2), '0')}`
  }
  const bytes = (value: Hex | undefined | null): Hex => value ?? '0x'
  const fields = [bytes(tx.sourceHash), bytes(tx.from), bytes(tx.to), number(tx.mint), number(tx.value), number(tx.gas)]
  return `0x7e${toRlp([...fields, '0x', bytes(tx.input)]).slice(2)}`
}
