import type { Hex } from 'viem'
import { chainName } from '../chain/chain-names.js'
import type { Draft } from '../request/draft.js'
import { DraftError } from '../request/draft-error.js'

/** Recognised pasted text. */
export interface Pasted {
  /** For example `Signed transaction`. */
  kind: string
  draft: Draft
  /** Content that the form does not show, and content that is not simulated. */
  notes: string[]
  /** Outcome of a mined transaction. */
  happened?: { succeeded: boolean; gasUsed: bigint }
}

/** Context of a paste. */
export interface PasteContext {
  chainId: number
  /** The current form, into which bare calldata is put. */
  draft: Draft
  /** Calls the gateway. @throws Error if it rejects the call */
  ask<T>(method: string, params: unknown[]): Promise<T>
}

/** An error about the pasted text, for its input. */
export function pasteError(reason: string): DraftError {
  return new DraftError('Pasted text', reason, 'paste')
}

/** @throws DraftError if it is for another chain, which the error names */
export function demandChain(given: unknown, { chainId }: PasteContext): void {
  if (given === undefined || given === null || given === '') return
  const text = String(given).replace(/^eip155:/, '')
  const id = /^(\d{1,15}|0x[0-9a-f]{1,12})$/i.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(id)) throw pasteError('its chain id is not a number')
  if (id === chainId) return
  throw pasteError(`it is for ${named(id)}; this page looks at ${named(chainId)}`)
}

function named(id: number): string {
  return chainName(id) === `Chain ${id}` ? `chain ${id}` : `${chainName(id)} (${id})`
}

/** Whole bytes of 0x-hex; undefined for anything else. */
export function hexOf(value: unknown): Hex | undefined {
  return typeof value === 'string' && /^0x([0-9a-f]{2})*$/i.test(value) ? (value as Hex) : undefined
}
