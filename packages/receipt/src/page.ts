import { createPageEngine } from '@upfront/engine-revm/page'
import type { VerifyOptions } from './verify/paid-exchange.js'
import { type Verification, verify } from './verify/verify.js'

/**
 * `verify` for web pages: checks a bill, its witness and its payment offline, with the engine's WebAssembly module. It computes as long as
 * the paid calls took, so run it in a web worker, which the page can terminate.
 *
 * @example
 * ```ts
 * const module = await WebAssembly.compileStreaming(fetch('portable.wasm'))
 * const { verdict, calls, payment } = await checkBill(bill, module)
 * ```
 * @param bill see `PaidExchange`
 * @param module portable.wasm of `@upfront/engine-revm`, a `WebAssembly.Module`
 * @throws Error that names the field if the bill does not decode
 */
export function checkBill(
  bill: unknown,
  module: object,
  options: Pick<VerifyOptions, 'signer'> = {},
): Promise<Verification> {
  return verify(bill, { ...options, engine: createPageEngine(module) })
}

export type { Check, Outcome } from './verify/check.js'
export type { Verification } from './verify/verify.js'
