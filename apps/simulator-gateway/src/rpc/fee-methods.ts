import type { FollowedBlock } from '@upfront/chain'
import { type Awaitable, decodeQuantity, passThrough, raceAbort } from '@upfront/node'
import { type BlockHeader, type BlockParameter, DecodeError, type Hash, toQuantity } from '@upfront/protocol'
import { blobFeeIn, type PaidTip, presentFeeHistory } from '@upfront/simulation'
import { LRUCache } from 'lru-cache'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { blockNumberParameter, decoding, headersTo, Overriding, onHeadOf, type Reading, timeOf } from './reading.js'
import { suggestTip } from './suggest-tip.js'

const LATEST: BlockParameter = { kind: 'tag', tag: 'latest' }
/** For `eth_feeHistory` with rewards, which needs every receipt. */
const MAX_REWARDED_BLOCKS = 24
const MAX_PERCENTILES = 100
const PRICE_BYTES = 4 * 1024
/** Heads for which the node's prices are kept. */
const MAX_ASKED = 8

/**
 * The fee methods of `passed`: computed like geth's from held blocks, if the chain is Ethereum's and the blocks suffice. Otherwise the node
 * is asked, for prices once per head.
 */
export function feeMethods(reading: Reading, passed: ReadonlyMap<string, RpcMethod>): Map<string, RpcMethod> {
  const { bases, chain, client } = reading
  const overriding = new Overriding(passed)
  const onHead = (name: string, price: (header: BlockHeader, context: RpcContext) => Awaitable<bigint | undefined>) => {
    const asked = new LRUCache<Hash, Promise<string>>({ max: MAX_ASKED })
    overriding.serve(name, (pass) => async (params, context) => {
      const { view } = context
      const head = await bases.held(LATEST, view, timeOf(context))
      if (head === undefined) return pass(params, context)
      bases.noteBase(head, view)
      const found = await price(head.header, context)
      if (found !== undefined) return JSON.stringify(toQuantity(found))
      const { hash } = head.header
      let answer = asked.get(hash)
      if (answer === undefined) {
        // Shared by all callers, so not tied to one request's signal.
        answer = passThrough(client, name, [], {})
        answer.catch(() => asked.delete(hash))
        asked.set(hash, answer)
      }
      return raceAbort(answer, context.signal)
    })
  }
  const tip = (head: BlockHeader) => suggestTip(chain.head.kept.newestFirst(head))
  onHead('eth_maxPriorityFeePerGas', tip)
  onHead('eth_gasPrice', (head) => {
    const suggested = tip(head)
    return suggested === undefined ? undefined : suggested + (head.baseFeePerGas ?? 0n)
  })
  onHead('eth_blobBaseFee', async (header, context) => {
    const rules = await chain.rules(context)
    return rules.stack === 'ethereum' && header.excessBlobGas !== undefined ? blobFeeIn(header, rules) : undefined
  })
  overriding.serve('eth_feeHistory', (pass) =>
    decoding(async (params, context) => {
      const history = await feeHistory(reading, params, context)
      if (history !== undefined) return JSON.stringify(history)
      return pass(await onHeadOf(reading, params, 1, context), context)
    }),
  )
  return overriding.methods
}

/**
 * The answer of `eth_maxPriorityFeePerGas`, in wei per gas; undefined if neither the held blocks nor the node tell it.
 * @throws or rejects with the signal's reason
 */
export async function suggestedTip(
  { bases, chain, client }: Reading,
  context: RpcContext,
): Promise<bigint | undefined> {
  const time = timeOf(context)
  const head = await bases.held(LATEST, context.view, time)
  const tip = head && suggestTip(chain.head.kept.newestFirst(head.header))
  if (tip !== undefined) return tip
  const asked = { method: 'eth_maxPriorityFeePerGas', params: [], maxBytes: PRICE_BYTES, attempts: 2 }
  const [outcome] = await client.batch([{ ...asked, decode: (price: unknown) => decodeQuantity(price) }], time)
  return 'value' in outcome! ? outcome.value : undefined
}

/** Undefined if the node must answer. */
async function feeHistory(reading: Reading, params: unknown[], context: RpcContext) {
  const { bases, chain } = reading
  for (const at of [0, 1, 2])
    if (params[at] == null) throw new DecodeError(undefined, `missing value for required argument ${at}`)
  const [wanted, , given] = params
  const count = typeof wanted === 'string' && /^0x[0-9a-f]{1,4}$/i.test(wanted) ? Number(wanted) : 0
  const percentiles = percentilesOf(given)
  if (count < 1 || percentiles === undefined) return undefined
  if (percentiles.length > 0 && count > MAX_REWARDED_BLOCKS) return undefined
  const newest = await bases.held(blockNumberParameter(params, 1), context.view, timeOf(context))
  const rules = newest && (await chain.rules(context))
  if (newest === undefined || rules?.stack !== 'ethereum') return undefined
  const headers = headersTo(reading, newest.header, ({ number }, length) => length === count || number === 0n)
  if (headers === undefined) return undefined
  const tips = percentiles.length === 0 ? undefined : await tipsOf(reading, headers, context)
  if (percentiles.length > 0 && tips === undefined) return undefined
  bases.noteBase(newest, context.view)
  return presentFeeHistory(headers, rules, percentiles, tips)
}

/** Percentiles as geth accepts them: ascending, from 0 to 100. Undefined if geth refuses them. */
function percentilesOf(value: unknown): number[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_PERCENTILES) return undefined
  const isInOrder = value.every(
    (each, at) => typeof each === 'number' && each >= 0 && each <= 100 && (at === 0 || each > value[at - 1]),
  )
  return isInOrder ? value : undefined
}

async function tipsOf(
  { chain }: Reading,
  headers: readonly BlockHeader[],
  context: RpcContext,
): Promise<PaidTip[][] | undefined> {
  const all = await Promise.all(
    headers.map(async ({ hash }) => {
      const block = await chain.sealed(hash, context)
      return block && (paid.get(block) ?? paidIn(block, await chain.receipts.of(block, timeOf(context))))
    }),
  )
  return all.every((tips) => tips !== undefined) ? all : undefined
}

const paid = new WeakMap<FollowedBlock, PaidTip[]>()

function paidIn(block: FollowedBlock, receipts: readonly string[] | undefined): PaidTip[] | undefined {
  if (receipts === undefined) return undefined
  const { baseFeePerGas = 0n } = block.header
  const tips = receipts.map((text) => {
    const { gasUsed, effectiveGasPrice } = JSON.parse(text) as { gasUsed: string; effectiveGasPrice: string }
    return { gasUsed: BigInt(gasUsed), tip: BigInt(effectiveGasPrice) - baseFeePerGas }
  })
  paid.set(block, tips)
  return tips
}
