import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BlockHeader, blockHeaderFromRpc } from '@upfront/protocol'

const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..')
const shared = process.env.UPFRONT_SHARED ?? join(repository, '..', 'shared')

/** `describe` where the recorded chains are at hand; elsewhere the suite is skipped and its name says why. */
export const describeRecorded: (name: string, run: () => void) => void = existsSync(join(shared, 'conformance'))
  ? describe
  : (name, run) => describe.skip(`${name} (skipped: no recorded chains beside the repository, see UPFRONT_SHARED)`, run)

export function recordedJson(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(shared, ...path), 'utf8'))
}

/** Headers of `conformance` (Ethereum, through the Merge to BPO2) or `conformance-op` (Jovian from genesis), by number. */
export function recordedHeaders(chain: 'conformance' | 'conformance-op'): BlockHeader[] {
  return (recordedJson(chain, 'chain', 'blocks.json') as unknown[]).map(blockHeaderFromRpc)
}
