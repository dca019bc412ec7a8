import type { Hex } from 'viem'
import { chainName } from '../chain/chain-names.js'
import type { Draft } from '../request/draft.js'
import { DraftError } from '../request/draft-error.js'

/** What a pasted text was known for. */
export interface Pasted {
  /** `Signed transaction` */
  kind: string
  draft: Draft
  /** What it says that the form does not show, and what of it is not simulated. */
  notes: string[]
  /** Of a mined transaction: what became of it. */
  happened?: { succeeded: boolean; gasUsed: bigint }
}

/** Where something is pasted. */
export interface PasteContext {
  chainId: number
  /** What is in the form: calldata alone is put into it. */
  draft: Draft
  /** A call at the gateway. @throws Error where it is refused */
  ask<T>(method: string, params: unknown[]): Promise<T>
}

/** The name of what was pasted, in errors; and its input. */
export function pasteError(reason: string): DraftError {
  return new DraftError('Pasted text', reason, 'paste')
}

/** @throws DraftError where it is for another chain, by name */
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

/** 0x-hex of whole bytes; undefined for anything else. */
export function hexOf(value: unknown): Hex | undefined {
  return typeof value === 'string' && /^0x([0-9a-f]{2})*$/i.test(value) ? (value as Hex) : undefined
}
