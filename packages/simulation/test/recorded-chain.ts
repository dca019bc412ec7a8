import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BlockHeader, blockHeaderFromRpc } from '@upfront/protocol'

/** The folder of recorded chains. */
export const RECORDINGS = fileURLToPath(new URL('../../../testing/recordings', import.meta.url))

export function recordedJson(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(RECORDINGS, ...path), 'utf8'))
}

/** Headers of `conformance` (Ethereum, through the Merge to BPO2) or `conformance-op` (Jovian from genesis), by number. */
export function recordedHeaders(chain: 'conformance' | 'conformance-op'): BlockHeader[] {
  return (recordedJson(chain, 'chain', 'blocks.json') as unknown[]).map(blockHeaderFromRpc)
}

export interface RecordedExchange {
  name: string
  params: unknown
  /** Blocks as geth answered them, or its error. */
  result?: Record<string, unknown>[]
  error?: { code: number; message: string }
}

/** The exchanges of `conformance/cases` or `conformance-op/cases`. */
export function recordedExchanges(chain: 'conformance' | 'conformance-op'): RecordedExchange[] {
  const cases = join(RECORDINGS, chain, 'cases')
  return readdirSync(cases).map((name) => {
    const lines = readFileSync(join(cases, name), 'utf8').split('\n')
    const json = (mark: string) => JSON.parse((lines.find((line) => line.startsWith(mark)) ?? mark).slice(mark.length))
    const { result, error } = json('<< ')
    return { name, params: json('>> ').params, result, error }
  })
}
