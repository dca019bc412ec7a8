// Writes src/guard/guard-code.ts from artifacts/OutcomeGuard.json: pages have no file system. `npm run compile`.
import { readFileSync, writeFileSync } from 'node:fs'

const artifact = JSON.parse(readFileSync(new URL('artifacts/OutcomeGuard.json', import.meta.url), 'utf8'))

export const text = `// Written by \`npm run compile\` from contracts/OutcomeGuard.sol: change that.
import type { Hex } from '@upfront/protocol'

/** What creates the contract. */
export const GUARD_CREATION: Hex =
  '${artifact.bytecode}'

/** Its code. */
export const GUARD_CODE: Hex =
  '${artifact.deployedBytecode}'
`

if (process.argv[1] === import.meta.filename) writeFileSync(new URL('src/guard/guard-code.ts', import.meta.url), text)
