import { type CallRequest, ErrorCode, RpcError, ZERO_ADDRESS } from '@upfront/protocol'
import type { FailedCall, Failure } from '../engine/engine.js'
import { SimulationRejected, type TransactionFault } from '../engine/simulation-rejected.js'
import { FORK_RULES } from '../plan/chain-rules.js'
import { rulesAt } from '../plan/rules-at.js'
import { isOutOfGas } from '../present/halt-message.js'
import { presentRejection } from '../present/present-rejection.js'
import { type CallResult, type CallSite, executeCall } from './execute-call.js'

const TRANSFER_GAS = 21_000n
const CALL_STIPEND = 2_300n
const BLOB_GAS = 131_072n
const TOO_LITTLE_GAS: ReadonlySet<TransactionFault['kind']> = new Set(['intrinsicGas', 'floorGas'])
/** Relative tolerance of the estimate above the least sufficient limit; geth's value. */
const TOLERANCE = { numerator: 15n, denominator: 1_000n }

/**
 * The least gas limit, within 1.5%, with which the call succeeds in the block.
 * @returns the limit, or the failed call if it fails with all available gas
 * @throws RpcError -32000, in geth's words, if no limit that the sender can pay is enough, or the call is no valid transaction
 */
export async function estimateGas(
  request: CallRequest,
  site: CallSite,
): Promise<{ gas: bigint } | { failed: FailedCall }> {
  let high = await highestGas(request, site)
  const run = (gas: bigint) => runWith(gas, request, site)
  if (await isPlainTransfer(request, site)) {
    const transfer = await run(TRANSFER_GAS).catch((error) => {
      if (!(error instanceof RpcError)) throw error
      return undefined
    })
    if (transfer !== undefined && transfer.failed === undefined) return { gas: transfer.gasUsed }
  }
  const unconstrained = await run(high)
  if (unconstrained === undefined) throw tooLittle(high)
  const { failed } = unconstrained
  if (failed !== undefined) {
    if (lacksGas(failed.failure)) throw tooLittle(high)
    return { failed }
  }
  let low = unconstrained.gasUsed - 1n
  const likely = ((unconstrained.maxUsedGas + CALL_STIPEND) * 64n) / 63n
  if (likely < high) {
    if (succeeded(await run(likely))) high = likely
    else low = likely
  }
  while (low + 1n < high && (high - low) * TOLERANCE.denominator >= high * TOLERANCE.numerator) {
    const half = (low + high) / 2n
    // Most calls need little more than they used, so search the low side first.
    const middle = half > low * 2n ? low * 2n : half
    if (succeeded(await run(middle))) high = middle
    else low = middle
  }
  return { gas: high }
}

/** Runs the call with this gas limit; undefined if the limit is below the intrinsic gas or the calldata floor. */
async function runWith(gas: bigint, request: CallRequest, site: CallSite): Promise<CallResult | undefined> {
  try {
    return await executeCall({ ...request, call: { ...request.call, gas } }, site)
  } catch (error) {
    if (!(error instanceof SimulationRejected)) throw error
    const { rejection } = error
    if (rejection.kind === 'transaction' && TOO_LITTLE_GAS.has(rejection.fault.kind)) return undefined
    const { message } = presentRejection(rejection, (words) => `failed with ${gas} gas: ${words}`)
    throw new RpcError(ErrorCode.serverError, message)
  }
}

function succeeded(result: CallResult | undefined): boolean {
  return result !== undefined && result.failed === undefined
}

async function highestGas({ call, stateOverrides, blockOverrides }: CallRequest, site: CallSite): Promise<bigint> {
  const { rules, base, opening, gasCap, driver, state } = site
  const blockGas = blockOverrides.gasLimit ?? opening?.gasLimit ?? base.gasLimit
  let high = call.gas !== undefined && call.gas >= TRANSFER_GAS ? call.gas : blockGas
  const { number = opening === undefined ? base.number : base.number + 1n } = blockOverrides
  const { timestamp = opening?.timestamp ?? base.timestamp } = blockOverrides
  const { fork } = rulesAt(rules, number, timestamp) ?? {}
  if (fork !== undefined) high = least(high, FORK_RULES[fork].transactionGas ?? high)
  const price = call.gasPrice ?? call.maxFeePerGas ?? 0n
  if (price > 0n) {
    const { from = ZERO_ADDRESS } = call
    const overridden = stateOverrides.find((override) => override.address === from)?.balance
    const balance = overridden ?? ((await driver.read([{ kind: 'balance', address: from }], state, site))[0] as bigint)
    const blobs = BigInt(call.blobVersionedHashes?.length ?? 0) * BLOB_GAS * (call.maxFeePerBlobGas ?? 0n)
    const available = balance - (call.value ?? 0n) - blobs
    if (available <= 0n) throw new RpcError(ErrorCode.serverError, 'insufficient funds for transfer')
    high = least(high, available / price)
  }
  high = least(high, gasCap)
  if (high < TRANSFER_GAS) throw tooLittle(high)
  return high
}

async function isPlainTransfer({ call, stateOverrides }: CallRequest, site: CallSite): Promise<boolean> {
  const { to, input = '0x' } = call
  if (!to || input !== '0x') return false
  const overridden = stateOverrides.find((override) => override.address === to)?.code
  if (overridden !== undefined) return overridden === '0x'
  const [code] = await site.driver.read([{ kind: 'code', address: to }], site.state, site)
  return code === '0x'
}

function lacksGas(failure: Failure): boolean {
  return failure.kind === 'halt' && !failure.isGasCapped && isOutOfGas(failure.halt)
}

function tooLittle(gas: bigint): RpcError {
  return new RpcError(ErrorCode.serverError, `gas required exceeds allowance (${gas})`)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
