import { type CallRequest, ErrorCode, RpcError } from '@upfront/protocol'
import type { FailedCall, Failure } from '../engine/engine.js'
import { nextTime } from '../plan/block-schedule.js'
import { OSAKA_TRANSACTION_GAS } from '../plan/chain-defaults.js'
import { rulesAt } from '../plan/rules-at.js'
import { haltMessage } from '../present/halt-message.js'
import { type CallSite, executeCall } from './execute-call.js'

const TRANSFER_GAS = 21_000n
const CALL_STIPEND = 2_300n
const BLOB_GAS = 131_072n
/** An estimate may lie this much above the least gas that does, as wallets add more anyway (geth's figure). */
const TOLERANCE = { numerator: 15n, denominator: 1_000n }

/**
 * The least gas limit, within 1.5%, with which the call succeeds in the block under construction.
 * @returns the limit, or the call as it fails with all the gas it may have
 * @throws RpcError -32000 where no gas limit that the sender can pay is enough
 */
export async function estimateGas(
  request: CallRequest,
  site: CallSite,
): Promise<{ gas: bigint } | { failed: FailedCall }> {
  const { call } = request
  let high = await highestGas(request, site)
  const run = (gas: bigint) => executeCall({ ...request, call: { ...call, gas } }, site)
  if (await isPlainTransfer(request, site)) {
    const transfer = await run(TRANSFER_GAS)
    if (transfer.failed === undefined) return { gas: transfer.gasUsed }
  }
  const unconstrained = await run(high)
  const { failed } = unconstrained
  if (failed !== undefined) {
    if (isOutOfGas(failed.failure)) throw tooLittle(high)
    return { failed }
  }
  let low = unconstrained.gasUsed - 1n
  const likely = ((unconstrained.maxUsedGas + CALL_STIPEND) * 64n) / 63n
  if (likely < high) {
    if ((await run(likely)).failed === undefined) high = likely
    else low = likely
  }
  while (low + 1n < high && (high - low) * TOLERANCE.denominator >= high * TOLERANCE.numerator) {
    const half = (low + high) / 2n
    // Most calls need little more than they used: lean to the low side.
    const middle = half > low * 2n ? low * 2n : half
    if ((await run(middle)).failed === undefined) high = middle
    else low = middle
  }
  return { gas: high }
}

async function highestGas({ call, stateOverrides }: CallRequest, site: CallSite): Promise<bigint> {
  const { rules, base, opening, gasCap, driver, state } = site
  let high = call.gas !== undefined && call.gas >= TRANSFER_GAS ? call.gas : opening.gasLimit
  const number = base.number + 1n
  const { timestamp = nextTime(rules.schedule, number, base.timestamp) } = opening
  const { fork } = rulesAt(rules, number, timestamp) ?? {}
  if (fork === 'osaka') high = least(high, OSAKA_TRANSACTION_GAS)
  const price = call.gasPrice ?? call.maxFeePerGas ?? 0n
  if (price > 0n && call.from) {
    const { from } = call
    const overridden = stateOverrides.find((override) => override.address === from)?.balance
    const balance = overridden ?? ((await driver.read([{ kind: 'balance', address: from }], state, site))[0] as bigint)
    const blobs = BigInt(call.blobVersionedHashes?.length ?? 0) * BLOB_GAS * (call.maxFeePerBlobGas ?? 0n)
    const available = balance - (call.value ?? 0n) - blobs
    if (available <= 0n) throw new RpcError(ErrorCode.serverError, 'insufficient funds for transfer')
    high = least(high, available / price)
  }
  high = least(least(high, opening.gasLimit), gasCap)
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

function isOutOfGas(failure: Failure): boolean {
  return failure.kind === 'halt' && !failure.isGasCapped && haltMessage(failure.halt) === 'out of gas'
}

function tooLittle(gas: bigint): RpcError {
  return new RpcError(ErrorCode.serverError, `gas required exceeds allowance (${gas})`)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
