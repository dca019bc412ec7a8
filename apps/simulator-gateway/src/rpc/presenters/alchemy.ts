import { decodeList, ErrorCode, formatUnits, RpcError } from '@upfront/protocol'
import type { DecodedFrame, InspectedCall, ShownApproval, ShownAsset } from '@upfront/simulation'
import { knownChainRules } from '@upfront/simulation'
import type { RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorded, type Recorder } from './recorder.js'
import { argumentsOf, failureOf, flat } from './words.js'

// Alchemy's simulation methods. Source: https://www.alchemy.com/docs/reference/simulation-asset-changes and …-execution.

const FORMATS = ['NESTED', 'FLAT']

export function alchemyMethods(recorder: Recorder): [string, RpcMethod][] {
  const method = (isBundle: boolean, present: (recorded: Recorded, format: string) => unknown[]): RpcMethod => {
    return async (params, context) => {
      const { format, rest, at } = formatOf(listOf(params, 3))
      const [given, block] = rest
      const calls = isBundle ? decodeList(given, `params[${at}]`) : [given]
      const place = (index: number) => (isBundle ? `params[${at}][${index}]` : `params[${at}]`)
      const payload = { blockStateCalls: [{ calls }], trace: true, assetChanges: true, decode: true }
      const places = calls.map((_, index) => [`blockStateCalls[0].calls[${index}]`, place(index)] as const)
      const results = present(await recorder.record({ payload, block, places }, context), format)
      return JSON.stringify(isBundle ? results : results[0])
    }
  }
  return [
    ['alchemy_simulateAssetChanges', method(false, assetChanges)],
    ['alchemy_simulateAssetChangesBundle', method(true, assetChanges)],
    ['alchemy_simulateExecution', method(false, executions)],
    ['alchemy_simulateExecutionBundle', method(true, executions)],
  ]
}

/** The format is an optional first parameter. */
function formatOf(params: unknown[]): { format: string; rest: unknown[]; at: number } {
  const [first] = params
  if (typeof first !== 'string') return { format: 'FLAT', rest: params, at: 0 }
  if (!FORMATS.includes(first))
    throw new RpcError(ErrorCode.invalidParams, `params[0]: expected a transaction, or one of ${FORMATS.join(', ')}`)
  return { format: first, rest: params.slice(1), at: 1 }
}

function assetChanges({ calls, chainId }: Recorded): unknown[] {
  const isEther = knownChainRules(chainId) !== undefined
  return calls.map(({ call }) => {
    const failure = failureOf(call)
    const { transfers = [], approvals = [] } = call.assetChanges ?? {}
    return {
      changes: [
        ...transfers.map(({ from, to, amount, ...asset }) => ({
          ...assetOf(asset, isEther),
          changeType: 'TRANSFER',
          from,
          to,
          ...amountsOf(asset.type === 'erc721' ? null : BigInt(amount), asset),
        })),
        ...approvals.map((approval) => approvalOf(approval, isEther)),
      ],
      gasUsed: failure === undefined ? call.gasUsed : null,
      error: failure === undefined ? null : { message: failure },
    }
  })
}

function approvalOf({ kind, token, owner, spender, amount, tokenId, approved }: ShownApproval, isEther: boolean) {
  const isErc20 = kind === 'erc20' || kind === 'permit2'
  // For NFTs, Alchemy has an amount only if the approval is revoked.
  const raw = isErc20 ? BigInt(amount ?? 0) : approved === false ? 0n : null
  return {
    ...assetOf({ ...token, ...(tokenId && { tokenId }) }, isEther),
    changeType: 'APPROVE',
    from: owner,
    to: spender,
    ...amountsOf(raw, token),
  }
}

function assetOf({ type, address, tokenId, symbol, decimals }: ShownAsset, isEther: boolean) {
  const isNative = type === 'native'
  return {
    assetType: type.toUpperCase(),
    contractAddress: address ?? null,
    tokenId: tokenId === undefined ? null : BigInt(tokenId).toString(),
    decimals: decimals ?? (isNative ? 18 : null),
    symbol: symbol ?? (isNative && isEther ? 'ETH' : null),
    name: isNative && isEther ? 'Ethereum' : null,
    logo: null,
  }
}

function amountsOf(raw: bigint | null, { type, decimals }: ShownAsset) {
  const places = type === 'native' ? 18 : type === 'erc20' ? decimals : 0
  return {
    rawAmount: raw === null ? null : raw.toString(),
    amount: raw === null || places === undefined ? null : formatUnits(raw, places),
  }
}

function executions({ calls }: Recorded, format: string): unknown[] {
  return calls.map(({ call }) => {
    const top = call.trace as DecodedFrame
    const failure = failureOf(call)
    return {
      calls: format === 'NESTED' ? [frameOf(top, true)] : flat(top).map((frame) => frameOf(frame, false)),
      logs: call.logs.map(({ address, data, topics }, index) => ({
        address,
        data,
        topics,
        ...eventOf(call, index),
      })),
      ...(failure !== undefined && { error: top.error, revertReason: failure }),
    }
  })
}

function frameOf(frame: DecodedFrame, isNested: boolean): object {
  const { type, from, to, value, gas, gasUsed, input, output, error, decoded, calls } = frame
  return {
    type,
    from,
    to,
    value: value ?? '0x0',
    gas,
    gasUsed,
    input,
    output: output ?? '0x',
    ...(error !== undefined && { error }),
    ...(decoded?.call !== undefined && {
      decoded: {
        authority: decoded.call.from ?? null,
        methodName: decoded.call.name,
        inputs: argumentsOf(decoded.call),
        outputs: null,
      },
    }),
    ...(isNested && calls && { calls: calls.map((inner) => frameOf(inner, true)) }),
  }
}

function eventOf({ decoded }: InspectedCall, index: number): object {
  const event = decoded?.logs[index]
  if (!event) return {}
  return { decoded: { authority: event.from ?? null, eventName: event.name, inputs: argumentsOf(event) } }
}
