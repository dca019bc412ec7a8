import { fileURLToPath } from 'node:url'

const node = fileURLToPath(new URL('node.mjs', import.meta.url))

/** Aliases for vite, to build a page that imports `@upfront/receipt/page`: `resolve: { alias: pageAliases }`. */
export const pageAliases = [
  { find: /^node:(crypto|timers\/promises|diagnostics_channel|fs)$/, replacement: node },
  // Only imported if no engine is passed, but pages pass one.
  { find: /^@upfront\/engine-revm$/, replacement: node },
]
