import { decodeList, decodeObject, ErrorCode, formatUnits, type Hex, RpcError, toQuantity } from '@upfront/protocol'
import { type AccountDiff, type AssetChanges, type DecodedFrame, type InspectedCall } from '@upfront/simulation'
import type { RpcContext, RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorded, type Recorder } from './recorder.js'
import { argumentsOf, failureOf, flat, given as present, traceAddresses } from './words.js'

// Tenderly's methods. Source: https://docs.tenderly.co/node/rpc-reference/ethereum-mainnet/tenderly_simulateTransaction

const STANDARDS = { native: 'NativeCurrency', erc20: 'ERC20', erc721: 'ERC721', erc1155: 'ERC1155' }
const FUNGIBILITIES = { native: 'Native', erc20: 'Fungible', erc721: 'NonFungible', erc1155: 'NonFungible' }
const NOBODY = `0x${'0'.repeat(40)}`

export function tenderlyMethods(recorder: Recorder): [string, RpcMethod][] {
  const record = (params: unknown, isBundle: boolean, shown: object, context: RpcContext) => {
    const [given, block, stateOverrides, blockOverrides] = listOf(params, 4)
    const calls = isBundle ? decodeList(given, 'params[0]') : [given]
    const place = (index: number) => (isBundle ? `params[0][${index}]` : 'params[0]')
    return recorder.record(
      {
        payload: {
          blockStateCalls: [
            {
              calls: calls.map((call, index) => transactionOf(call, place(index))),
              ...present({ stateOverrides, blockOverrides: blockOverrides && blockOverridesOf(blockOverrides) }),
            },
          ],
          ...shown,
        },
        block,
        places: [
          ...calls.map((_, index) => [`blockStateCalls[0].calls[${index}]`, place(index)] as const),
          ['blockStateCalls[0].stateOverrides', 'params[2]'],
          ['blockStateCalls[0].blockOverrides', 'params[3]'],
        ],
      },
      context,
    )
  }
  const method = (isBundle: boolean, shown: object, present: (recorded: Recorded) => unknown[]): RpcMethod => {
    return async (params, context) => {
      const results = present(await record(params, isBundle, shown, context))
      return JSON.stringify(isBundle ? results : results[0])
    }
  }
  const all = { trace: true, assetChanges: true, stateDiff: true, decode: true, returnFullTransactions: true }
  return [
    ['tenderly_simulateTransaction', method(false, all, simulations)],
    ['tenderly_simulateBundle', method(true, all, simulations)],
    ['tenderly_estimateGas', method(false, { gasLimits: true, decode: true }, estimates)],
    ['tenderly_estimateGasBundle', method(true, { gasLimits: true, decode: true }, estimates)],
  ]
}

/** Accepts JSON numbers and signed transactions; a gas limit of 0 counts as absent. */
function transactionOf(given: unknown, place: string): unknown {
  if (typeof given === 'string') return given
  const call = Object.fromEntries(
    Object.entries(decodeObject(given, place)).map(([name, value]) => [
      name,
      Number.isSafeInteger(value) && (value as number) >= 0 ? toQuantity(value as number) : value,
    ]),
  )
  if (call.gas === '0x0') delete call.gas
  return call
}

function blockOverridesOf(given: unknown): object {
  const { coinbase, random, baseFee, ...rest } = decodeObject(given, 'params[3]')
  return { ...rest, ...present({ feeRecipient: coinbase, prevRandao: random, baseFeePerGas: baseFee }) }
}

function simulations({ calls }: Recorded): unknown[] {
  let cumulative = 0n
  return calls.map(({ call, record, block }, index) => {
    cumulative += BigInt(call.gasUsed)
    const { transactions } = block as unknown as { transactions: { type: Hex }[] }
    const assets = assetChanges(call.assetChanges)
    const states = stateChanges(call)
    return {
      status: call.status === '0x1',
      gasUsed: call.gasUsed,
      cumulativeGasUsed: toQuantity(cumulative),
      blockNumber: block.number,
      type: transactions[index]?.type ?? null,
      logsBloom: block.logsBloom,
      logs: call.logs.map(({ address, topics, data }, log) => {
        const event = call.decoded?.logs[log]
        return {
          name: event?.name ?? '',
          anonymous: topics.length === 0,
          inputs: event ? argumentsOf(event) : null,
          raw: { address, topics, data },
        }
      }),
      trace: frames(call, record),
      ...(failureOf(call) !== undefined && { errorMessage: failureOf(call) }),
      ...(assets.length > 0 && { assetChanges: assets, balanceChanges: balanceChanges(call.assetChanges) }),
      ...(states.length > 0 && { stateChanges: states }),
    }
  })
}

function frames(call: InspectedCall, record: Recorded['calls'][number]['record']): unknown[] {
  const decoded = flat(call.trace as DecodedFrame)
  return traceAddresses(record.frames).map(({ traceAddress, subtraces }, index) => {
    const { type, from, to, gas, gasUsed, value, input, output, error, decoded: known } = decoded[index]!
    return {
      type,
      ...(known?.call && { method: known.call.name }),
      from,
      to: to ?? null,
      gas,
      gasUsed,
      ...(value !== undefined && { value }),
      input,
      decodedInput: known?.call ? argumentsOf(known.call) : null,
      output: output ?? '0x',
      decodedOutput: null,
      ...(error !== undefined && { error: known?.error?.meaning ?? error }),
      subtraces,
      traceAddress,
    }
  })
}

function assetChanges(changes: AssetChanges | undefined): unknown[] {
  return (changes?.transfers ?? []).map(({ type, address, tokenId, symbol, decimals, from, to, amount }) => {
    const places = type === 'native' ? 18 : type === 'erc20' ? decimals : 0
    return {
      assetInfo: {
        standard: STANDARDS[type],
        type: FUNGIBILITIES[type],
        ...(address !== undefined && { contractAddress: address }),
        symbol: symbol ?? null,
        name: null,
        logo: null,
        decimals: places ?? null,
        dollarValue: null,
      },
      type: from === NOBODY ? 'Mint' : to === NOBODY ? 'Burn' : 'Transfer',
      ...(from !== NOBODY && { from }),
      ...(to !== NOBODY && { to }),
      rawAmount: amount,
      amount: places === undefined ? null : formatUnits(BigInt(amount), places),
      ...(tokenId !== undefined && { tokenId }),
      dollarValue: null,
    }
  })
}

/** The asset changes of each account, by index. Dollar values are empty: the gateway has none. */
function balanceChanges(changes: AssetChanges | undefined): unknown[] {
  const transfers = new Map<string, number[]>()
  for (const [index, { from, to }] of (changes?.transfers ?? []).entries())
    for (const address of new Set([from, to]))
      if (address !== NOBODY) transfers.set(address, [...(transfers.get(address) ?? []), index])
  return Array.from(transfers, ([address, indices]) => ({ address, dollarValue: '', transfers: indices }))
}

function stateChanges({ stateDiff = {} }: InspectedCall): unknown[] {
  const changed = <T>(change: { from: T; to: T }) => ({ previousValue: change.from, newValue: change.to })
  return Object.entries(stateDiff).map(([address, { nonce, balance, code, storage }]: [string, AccountDiff]) => ({
    address,
    ...(nonce && { nonce: changed(nonce) }),
    ...(balance && { balance: changed(balance) }),
    ...(code && { code: changed(code) }),
    ...(storage && { storage: Object.entries(storage).map(([slot, change]) => ({ slot, ...changed(change) })) }),
  }))
}

function estimates({ calls }: Recorded): unknown[] {
  return calls.map(({ call }, index) => {
    const failure = failureOf(call)
    if (failure !== undefined) throw new RpcError(ErrorCode.serverError, `transaction ${index}: ${failure}`)
    if (call.gasLimit === undefined)
      throw new RpcError(ErrorCode.limitExceeded, `transaction ${index}: no gas limit was found in time`)
    return { gas: call.gasLimit, gasUsed: call.gasUsed }
  })
}
