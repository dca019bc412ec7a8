import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BlockHeader, blockHeaderFromRpc } from '@upfront/protocol'

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const shared = process.env.UPFRONT_SHARED ?? join(repository, '..', 'shared')

const present = existsSync(join(shared, 'conformance'))
if (!present) console.warn('Skipped: the recorded chains are not beside the repository (see UPFRONT_SHARED)')

/** `describe` where the recorded chains are at hand; elsewhere its tests are skipped, and a warning says why. */
export const describeRecorded = present ? describe : describe.skip

export function recordedJson(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(shared, ...path), 'utf8'))
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

/** The exchanges of `conformance/cases` or `conformance-op/cases`; none where they are not at hand. */
export function recordedExchanges(chain: 'conformance' | 'conformance-op'): RecordedExchange[] {
  const cases = join(shared, chain, 'cases')
  if (!existsSync(cases)) return []
  return readdirSync(cases).map((name) => {
    const lines = readFileSync(join(cases, name), 'utf8').split('\n')
    const json = (mark: string) => JSON.parse((lines.find((line) => line.startsWith(mark)) ?? mark).slice(mark.length))
    const { result, error } = json('<< ')
    return { name, params: json('>> ').params, result, error }
  })
}
