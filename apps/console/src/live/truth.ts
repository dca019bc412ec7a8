import type { Hex } from 'viem'
import { poll } from './poll.js'

/** The part of `GET /v1/truth` that is shown: how today's predictions turned out. */
export interface Truth {
  predicted: number
  judged: number
  hits: number
  explained: number
  misses: Miss[]
}

export interface Miss {
  transaction: Hex
  differs: ('status' | 'gas' | 'transfers')[]
  why: 'dependency' | 'block' | 'rule' | 'ours' | 'unnamed' | 'unknown'
  because: { fact: { kind: string; address?: Hex }; by: string }[]
}

const EVERY_MS = 5_000

/** Polls every five seconds. @returns a function that stops it */
export function watchTruth(onTruth: (truth: Truth) => void): () => void {
  const read = (response: Response) => (response.ok ? (response.json() as Promise<Truth>) : undefined)
  return poll('/v1/truth', EVERY_MS, read, onTruth)
}

/** The score in a sentence. */
export function truthText({ predicted, judged, hits, explained }: Truth): string {
  if (judged === 0) return `${count(predicted, 'prediction')} today, none mined yet.`
  const misses = judged - hits
  const came = `${hits} of ${count(judged, 'prediction')} came true today`
  return misses === 0 ? `${came}.` : `${came}; ${explained} of the other ${misses} explained.`
}

const REASONS: Record<Miss['why'], string> = {
  dependency: 'a value that it depends on changed',
  block: 'another block came than expected',
  rule: 'what it writes existed already, or did not',
  ours: 'our engine differs from the chain',
  unnamed: 'not known',
  unknown: 'unknown: it could not be run again',
}

/** Why a prediction was wrong, with the first fact that differed. */
export function missText({ why, because: [first] }: Miss): string {
  if (first === undefined) return REASONS[why]
  const { fact, by } = first
  const place = fact.address === undefined ? fact.kind : `${fact.kind} of ${fact.address.slice(0, 10)}…`
  return `${REASONS[why]}: ${place}, by ${by}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
