import { pageAliases } from '@upfront/receipt/page/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The gateway that `npm start` runs, for `vite` alone. */
const GATEWAY = 'http://127.0.0.1:8080'

export default defineConfig({
  // What checking a bill takes of Node.
  resolve: { alias: pageAliases },
  // The worker loads the engine's module beside it.
  worker: { format: 'es' },
  base: '/console/',
  plugins: [react()],
  // Inlined assets would need `data:` in the page's content security policy.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/ethereum': { target: GATEWAY, ws: true } } },
})
