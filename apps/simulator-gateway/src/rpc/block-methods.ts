import { type BlockReceipts, type FollowedBlock, newestBlock, transactionHashes } from '@upfront/chain'
import { DecodeError, decodeQuantity, type Hash, toQuantity } from '@upfront/protocol'
import {
  type PendingBlock,
  presentPendingBlock,
  presentPendingReceipt,
  presentPendingReceipts,
  presentPendingTransaction,
  presentPendingTransactionAt,
} from '@upfront/simulation'
import { answerStateOf } from '../pending/answer-state.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import {
  blockHashParameter,
  blockNumberParameter,
  blockParameter,
  decoding,
  Overriding,
  onHeadOf,
  type Reading,
  timeOf,
} from './reading.js'

/** JSON of a block's contents; undefined if only the node knows them. */
type Shown = string | undefined

/** How a method presents a block: under construction, and followed. */
interface BlockMethod {
  ofUnsealed(block: PendingBlock, params: unknown[]): unknown
  ofSealed(block: FollowedBlock, params: unknown[], context: RpcContext): Shown | Promise<Shown>
}

const BY_NUMBER_OR_HASH = [
  ['eth_getBlockByNumber', 'eth_getBlockByHash', 'block'],
  ['eth_getBlockTransactionCountByNumber', 'eth_getBlockTransactionCountByHash', 'count'],
  ['eth_getTransactionByBlockNumberAndIndex', 'eth_getTransactionByBlockHashAndIndex', 'transaction'],
  ['eth_getBlockReceipts', 'eth_getBlockReceipts', 'receipts'],
] as const

/**
 * The methods of `passed` that return blocks, transactions and receipts. Blocks that were followed or are under construction are answered
 * here, sealed ones with the node's own JSON; all others by the node.
 */
export function blockMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const { bases, chain, preconfirmed } = reading
  const overriding = new Overriding(passed)
  const shown = shownOf(chain.receipts)
  for (const [byNumber, byHash, what] of BY_NUMBER_OR_HASH)
    for (const [name, decode] of decodersOf(byNumber, byHash))
      overriding.serve(name, (pass) =>
        decoding(async (params, context) => {
          const { ofUnsealed, ofSealed } = shown[what]
          const { view } = context
          const block = decode(params, 0)
          if (what === 'block') requireBoolean(params, 1)
          const unsealed = block.kind === 'hash' ? preconfirmed.snapshotFor(view) : bases.snapshotFor(block, view)
          const found =
            block.kind === 'hash'
              ? unsealed?.blocks.find(({ hash }) => hash === block.hash)
              : unsealed && newestBlock(unsealed)
          if (unsealed !== undefined && found !== undefined) {
            view.answerState = answerStateOf(unsealed)
            return JSON.stringify(ofUnsealed(found, params) ?? null)
          }
          const held = await bases.held(block, view, timeOf(context))
          const sealed = held && (await chain.sealed(held.header.hash, context))
          const answer = sealed && (await ofSealed(sealed, params, context))
          if (held === undefined || answer === undefined)
            return pass(block.kind === 'hash' ? params : await onHeadOf(reading, params, 0, context), context)
          bases.noteBase(held, view)
          return answer
        }),
      )
  for (const [name, inUnsealed, inSealed] of [
    ['eth_getTransactionByHash', presentPendingTransaction, shown.transaction.ofSealed],
    ['eth_getTransactionReceipt', presentPendingReceipt, receiptAt(chain.receipts)],
  ] as const) {
    overriding.serve(name, (pass) => async (params, context) => {
      const hash = hashOf(params)
      if (hash === undefined) return pass(params, context)
      const snapshot = preconfirmed.snapshotFor(context.view)
      const unsealed = snapshot && inUnsealed(snapshot.blocks, hash)
      if (snapshot !== undefined && unsealed !== undefined) {
        context.view.answerState = answerStateOf(snapshot)
        return JSON.stringify(unsealed)
      }
      const place = chain.find(hash)
      const answer = place && (await inSealed(place.block, [undefined, toQuantity(place.index)], context))
      if (place === undefined || answer === undefined) return pass(params, context)
      const { header } = place.block
      bases.noteBase({ header, key: header.hash }, context.view)
      return answer
    })
  }
  return overriding.methods
}

function decodersOf(byNumber: string, byHash: string): [string, typeof blockParameter][] {
  if (byNumber === byHash) return [[byHash, blockParameter]]
  return [
    [byNumber, blockNumberParameter],
    [byHash, blockHashParameter],
  ]
}

function shownOf(receipts: BlockReceipts): Record<(typeof BY_NUMBER_OR_HASH)[number][2], BlockMethod> {
  return {
    block: {
      ofUnsealed: (block, params) => presentPendingBlock(block, params[1] === true),
      ofSealed: (block, params) => {
        const { rpc, isWhole } = block
        if (params[1] === true) return isWhole ? JSON.stringify(rpc) : undefined
        return JSON.stringify(isWhole ? { ...rpc, transactions: transactionHashes(block) } : rpc)
      },
    },
    count: {
      ofUnsealed: ({ transactions }) => toQuantity(transactions.length),
      ofSealed: ({ rpc }) => JSON.stringify(toQuantity((rpc.transactions as unknown[]).length)),
    },
    transaction: {
      ofUnsealed: (block, params) => presentPendingTransactionAt(block, indexOf(params)),
      ofSealed: ({ rpc, isWhole }, params) => {
        const index = indexOf(params)
        return isWhole ? JSON.stringify((rpc.transactions as unknown[])[Number(index)] ?? null) : undefined
      },
    },
    receipts: {
      ofUnsealed: presentPendingReceipts,
      ofSealed: async (block, _, context) => {
        const all = await receipts.of(block, timeOf(context))
        return all && `[${all.join(',')}]`
      },
    },
  }
}

function receiptAt(receipts: BlockReceipts): BlockMethod['ofSealed'] {
  return async (block, params, context) => (await receipts.of(block, timeOf(context)))?.[Number(indexOf(params))]
}

function hashOf(params: unknown): Hash | undefined {
  return Array.isArray(params) && typeof params[0] === 'string' ? (params[0].toLowerCase() as Hash) : undefined
}

/** Like geth, requires the flag for full transactions. @throws DecodeError */
function requireBoolean(params: unknown[], at: number): void {
  if (params[at] == null) throw new DecodeError(undefined, `missing value for required argument ${at}`)
  if (typeof params[at] !== 'boolean') throw new DecodeError(undefined, `params[${at}]: expected true or false`)
}

/** @throws DecodeError if the second parameter is not an index */
function indexOf(params: unknown[]): bigint {
  return decodeQuantity(params[1], 64, undefined, 'params[1]')
}
