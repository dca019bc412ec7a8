import { pageAliases } from '@upfront/receipt/page/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The gateway of `npm start`, only for the development server. */
const GATEWAY = 'http://127.0.0.1:8080'

export default defineConfig({
  // Replacements for the Node modules that checking a bill needs.
  resolve: { alias: pageAliases },
  // The worker loads the engine's module as a separate file.
  worker: { format: 'es' },
  base: '/console/',
  plugins: [react()],
  // Inlined assets would require `data:` in the page's content security policy.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/ethereum': { target: GATEWAY, ws: true } } },
})
