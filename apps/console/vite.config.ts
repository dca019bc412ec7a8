import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The gateway that `npm start` runs, for `vite` alone. */
const GATEWAY = 'http://127.0.0.1:8080'

/** What the checker of bills takes of Node: it was written for both. */
const NODE = ['fs', 'crypto', 'timers', 'timers/promises', 'events', 'diagnostics_channel'].map((name) => ({
  find: `node:${name}`,
  replacement: fileURLToPath(new URL(`src/node-on-page/${name.replace(/[/_]/, '-')}.ts`, import.meta.url)),
}))
const UNDICI = { find: 'undici', replacement: fileURLToPath(new URL('src/node-on-page/undici.ts', import.meta.url)) }

export default defineConfig({
  // Longer names first: an alias also stands for what begins with it.
  resolve: { alias: [UNDICI, ...NODE.toReversed()] },
  // The worker loads the engine's module beside it.
  worker: { format: 'es' },
  base: '/console/',
  plugins: [react()],
  // Inlined assets would need `data:` in the page's content security policy.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/ethereum': { target: GATEWAY, ws: true } } },
})
