import { decodeList, decodeObject, ErrorCode, type Hex, RpcError } from '@upfront/protocol'
import type { RpcMethod } from '../../requests/rpc-method.js'
import { listOf, type Recorded, type Recorder } from './recorder.js'
import { failureOf } from './words.js'

// Flashbots' eth_callBundle. Source: https://docs.flashbots.net/flashbots-auction/advanced/rpc-endpoint#eth_callbundle

const FIELDS: Readonly<Record<string, string>> = {
  timestamp: 'time',
  gasLimit: 'gasLimit',
  coinbase: 'feeRecipient',
  baseFee: 'baseFeePerGas',
}
const KNOWN = ['txs', 'blockNumber', 'stateBlockNumber', 'timeout', ...Object.keys(FIELDS)]

export function bundleMethods(recorder: Recorder): [string, RpcMethod][] {
  return [
    [
      'eth_callBundle',
      async (params, context) => {
        const [given] = listOf(params, 1)
        const fields = decodeObject(given, 'params[0]')
        const unknown = Object.keys(fields).find((name) => !KNOWN.includes(name))
        if (unknown !== undefined) throw new RpcError(ErrorCode.invalidParams, `params[0].${unknown}: is not supported`)
        const txs = decodeList(fields.txs, 'params[0].txs').map((raw, index) => {
          if (typeof raw === 'string') return raw as Hex
          throw new RpcError(ErrorCode.invalidParams, `params[0].txs[${index}]: expected a signed transaction in hex`)
        })
        const blockOverrides = {
          ...(fields.blockNumber != null && { number: fields.blockNumber }),
          ...Object.fromEntries(
            Object.entries(FIELDS).flatMap(([name, ours]) =>
              fields[name] == null ? [] : [[ours, quantity(fields[name])]],
            ),
          ),
        }
        const recorded = await recorder.record(
          {
            payload: {
              blockStateCalls: [{ blockOverrides, calls: txs }],
              // Signed transactions are validated: nonces, balances, fees.
              ...{ validation: true, returnFullTransactions: true, stateDiff: true, trace: true, decode: true },
            },
            block: fields.stateBlockNumber ?? 'latest',
            places: [
              ['blockStateCalls[0].calls', 'params[0].txs'],
              ['blockStateCalls[0].blockOverrides.number', 'params[0].blockNumber'],
              ['blockStateCalls[0].blockOverrides', 'params[0]'],
              ['params[1]', 'params[0].stateBlockNumber'],
            ],
          },
          context,
        )
        return JSON.stringify(await presented(txs, recorded))
      },
    ],
  ]
}

/** Flashbots sends numbers as JSON numbers. */
function quantity(value: unknown): unknown {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? `0x${(value as number).toString(16)}` : value
}

async function presented(txs: readonly Hex[], { calls, base, chainId }: Recorded): Promise<object> {
  const { concat, keccak256 } = await import('viem')
  const { readSignedCall } = await import('@upfront/simulation')
  const hashes = await Promise.all(txs.map(async (raw) => (await readSignedCall(raw, chainId)).hash))
  const results = calls.map(({ call, record, block }, index) => {
    const { from, to, effective } = paidBy(block, index)
    const gasUsed = BigInt(call.gasUsed)
    const tip = effective - BigInt(block.baseFeePerGas ?? 0)
    const miner = record.accounts.find(({ address }) => address === block.miner)
    const coinbaseDiff = miner === undefined ? 0n : miner.after.balance - miner.before.balance
    const gasFees = gasUsed * tip
    const failure = failureOf(call)
    return {
      sums: { coinbaseDiff, gasFees, gasUsed },
      shown: {
        txHash: hashes[index],
        gasUsed: Number(gasUsed),
        gasPrice: (gasUsed === 0n ? 0n : coinbaseDiff / gasUsed).toString(),
        gasFees: gasFees.toString(),
        fromAddress: from,
        toAddress: to,
        coinbaseDiff: coinbaseDiff.toString(),
        ethSentToCoinbase: (coinbaseDiff - gasFees).toString(),
        ...(failure === undefined
          ? { value: call.returnData }
          : { error: record.frames[0]?.halt === undefined ? 'execution reverted' : failure, revert: failure }),
      },
    }
  })
  const sum = (name: 'coinbaseDiff' | 'gasFees' | 'gasUsed') =>
    results.reduce((total, { sums }) => total + sums[name], 0n)
  const [coinbaseDiff, gasFees, gasUsed] = [sum('coinbaseDiff'), sum('gasFees'), sum('gasUsed')]
  return {
    bundleGasPrice: (gasUsed === 0n ? 0n : coinbaseDiff / gasUsed).toString(),
    bundleHash: keccak256(concat(hashes)),
    coinbaseDiff: coinbaseDiff.toString(),
    ethSentToCoinbase: (coinbaseDiff - gasFees).toString(),
    gasFees: gasFees.toString(),
    results: results.map(({ shown }) => shown),
    stateBlockNumber: Number(base.number),
    totalGasUsed: Number(gasUsed),
  }
}

function paidBy(block: Recorded['blocks'][number], index: number) {
  const { transactions } = block as unknown as { transactions: { from: Hex; to: Hex | null; gasPrice: Hex }[] }
  const { from, to, gasPrice } = transactions[index]!
  return { from, to, effective: BigInt(gasPrice) }
}
