import { fileURLToPath } from 'node:url'

const node = fileURLToPath(new URL('node.mjs', import.meta.url))

/** For vite, to build a page that imports `@upfront/receipt/page`: `resolve: { alias: pageAliases }`. */
export const pageAliases = [
  { find: /^node:(crypto|timers\/promises|diagnostics_channel|fs)$/, replacement: node },
  // What is imported where no engine is given: a page gives one.
  { find: /^@upfront\/engine-revm$/, replacement: node },
]
