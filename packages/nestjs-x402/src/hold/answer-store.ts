import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Inject, Injectable } from '@nestjs/common'
import { PAID_ROUTES_OPTIONS, type PaidRoutesOptions } from '../routes/paid-routes-options.js'
import type { HttpAnswer } from './http-answer.js'

/** Identifies a paid request when it is repeated. */
export interface AnswerKey {
  /** Network, payer and nonce. */
  authorization: string
  /** Payer and id of x402's `payment-identifier` extension; undefined if the payload has none. */
  identifier: string | undefined
  /** Digest of the whole payment payload, including its signature. */
  payload: string
  /** Digest of the request: method, path and query, body. */
  request: string
}

/** An answer that is withheld until its payment is settled. */
export interface WithheldAnswer {
  /** Kept at least until this time (milliseconds since 1970). */
  until: number
  /** Returns what the buyer gets now: the answer, or a 402. */
  ask(): Promise<HttpAnswer>
}

type KeptAnswer = HttpAnswer | WithheldAnswer

interface Entry {
  /** The keys under which it is found. */
  names: string[]
  payload: string
  request: string
  /** Resolves to undefined if the answer was not kept. */
  answer: Promise<KeptAnswer | undefined>
  /** Whether the first client has not received the answer: it left, or its payment was not settled yet. */
  isLost(): boolean
  bytes: number
  /** Of `bytes`, those of a withheld answer. */
  reserved: number
  until: number
}

const DEFAULT_SECONDS = 300
const DEFAULT_BYTES = 64 * 1024 * 1024
/** Bytes counted for an entry in addition to its body. */
const ENTRY_BYTES = 2_048

/** The place of a request's answer in the store. */
export interface AnswerPlace {
  /**
   * Makes room for a withheld answer, which is not evicted before its time. Call it before `fill`.
   * @returns false if there is none: no answers are kept, or other withheld ones fill the store
   */
  reserve(bytes: number): boolean
  /** Takes the answer once it is sent or withheld, or undefined if it can't be fetched again. */
  fill(answer: KeptAnswer | undefined): void
}

/**
 * Keeps paid answers for some minutes: those with a payment identifier, those whose client left before they were sent, and those that wait
 * for their payment. The same payment for the same request gets the answer again: no handler runs and nothing more is charged. Source:
 * x402's `payment-identifier` extension, "Recovering a Lost Response".
 */
@Injectable()
export class AnswerStore {
  /** How long an answer can be fetched again; 0 if none are kept. */
  readonly seconds: number
  private readonly maxBytes: number
  private readonly entries = new Map<string, Entry>()
  private bytes = 0
  private reserved = 0

  constructor(@Inject(PAID_ROUTES_OPTIONS) { answers = {} }: PaidRoutesOptions) {
    this.seconds = answers.seconds ?? DEFAULT_SECONDS
    this.maxBytes = answers.bytes ?? DEFAULT_BYTES
  }

  /**
   * Returns the answer of an earlier request with the same payment, after waiting for it if that request is still being served. `conflict`
   * if the payment was used for another request. `identifier taken` if the identifier was used with another payment; only its payer may be
   * told, so check the signature first. Undefined if nothing is kept.
   */
  async find({
    authorization,
    identifier,
    payload,
    request,
  }: AnswerKey): Promise<HttpAnswer | 'conflict' | 'identifier taken' | undefined> {
    const named = identifier === undefined ? undefined : this.entries.get(identifier)
    const entry = named ?? this.entries.get(authorization)
    if (entry === undefined || entry.until < Date.now()) return undefined
    if (named === undefined && !entry.isLost()) return undefined
    if (entry.payload !== payload) return named === undefined ? undefined : 'identifier taken'
    if (entry.request !== request) return 'conflict'
    const answer = await entry.answer
    return answer !== undefined && 'ask' in answer ? answer.ask() : answer
  }

  /**
   * Call it when the payment is verified, before anything is run or settled for it.
   * @returns undefined if its payer has used the identifier with another payment
   */
  begin(key: AnswerKey, response: ServerResponse): AnswerPlace | undefined {
    const named = key.identifier === undefined ? undefined : this.entries.get(key.identifier)
    if (named !== undefined && named.until >= Date.now() && named.payload !== key.payload) return undefined
    let resolve!: (answer: KeptAnswer | undefined) => void
    // Node emits `finish` even for writes after the client left; the order of the two events tells whether the answer was sent.
    let finished = false
    let lost = false
    response.once('finish', () => {
      finished = true
    })
    response.once('close', () => {
      lost ||= !finished
    })
    const entry: Entry = {
      names: key.identifier === undefined ? [key.authorization] : [key.identifier, key.authorization],
      payload: key.payload,
      request: key.request,
      answer: new Promise((settle) => {
        resolve = settle
      }),
      isLost: () => lost,
      bytes: 0,
      reserved: 0,
      until: Number.POSITIVE_INFINITY,
    }
    if (this.seconds > 0) for (const name of entry.names) this.entries.set(name, entry)
    const fill = (answer: KeptAnswer | undefined) => {
      if (answer !== undefined && 'ask' in answer) lost = true
      resolve(answer)
      const keep = () => {
        if (answer !== undefined && (key.identifier !== undefined || entry.isLost())) this.keep(entry, answer)
        else this.forget(entry)
      }
      if (response.closed) keep()
      else response.once('close', keep)
    }
    return { fill, reserve: (bytes) => this.reserve(entry, bytes + ENTRY_BYTES) }
  }

  private reserve(entry: Entry, bytes: number): boolean {
    if (this.seconds === 0 || this.reserved + bytes > this.maxBytes) return false
    this.reserved += bytes
    this.bytes += bytes
    entry.reserved = bytes
    entry.bytes = bytes
    return true
  }

  private keep(entry: Entry, answer: KeptAnswer): void {
    if (!entry.names.some((name) => this.entries.get(name) === entry)) {
      this.forget(entry)
      return
    }
    entry.until = Date.now() + this.seconds * 1000
    if ('ask' in answer) entry.until = Math.max(entry.until, answer.until)
    else {
      entry.bytes = answer.body.length + ENTRY_BYTES
      this.bytes += entry.bytes
    }
    // Entries are kept in the order in which they ended; the first that is not withheld is evicted next.
    for (const name of entry.names) {
      this.entries.delete(name)
      this.entries.set(name, entry)
    }
    for (const oldest of this.entries.values()) {
      if (oldest.until === Number.POSITIVE_INFINITY) continue
      if (oldest.until >= Date.now()) {
        if (this.bytes <= this.maxBytes) break
        if (oldest.reserved > 0) continue
      }
      this.forget(oldest)
    }
  }

  private forget(entry: Entry): void {
    for (const name of entry.names) if (this.entries.get(name) === entry) this.entries.delete(name)
    this.bytes -= entry.bytes
    this.reserved -= entry.reserved
    entry.bytes = 0
    entry.reserved = 0
  }
}

/**
 * Digests for an {@link AnswerKey}; undefined if the body nests too deeply to be written as JSON.
 * @param body the body as parsed by the framework, or its bytes
 */
export function digestRequest(
  payload: unknown,
  method: string,
  url: string,
  body: unknown,
): Pick<AnswerKey, 'payload' | 'request'> | undefined {
  const bytes = body instanceof Uint8Array || typeof body === 'string' ? body : writeJson(body)
  if (bytes === undefined) return undefined
  const sha256 = (...parts: (string | Uint8Array)[]) => {
    const hash = createHash('sha256')
    for (const part of parts) hash.update(part)
    return hash.digest('base64')
  }
  return { payload: sha256(JSON.stringify(payload)), request: sha256(JSON.stringify([method, url]), bytes) }
}

function writeJson(body: unknown): string | undefined {
  try {
    return JSON.stringify(body) ?? ''
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
