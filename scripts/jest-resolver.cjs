// jest's resolver in `npm test`: redirects imports to the bundles of scripts/bundle.mjs. `require` resolves as usual.
const { setFlagsFromString } = require('node:v8')

// Every jest worker loads this file. Most code in a test file runs only a few times, so V8 optimizes it five times later than by default.
// Newer V8s have no such flag.
if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=330000')

const places = require(`${process.env.BUNDLED}/places.json`)

module.exports = (request, options) => {
  const path = options.defaultResolver(request, options)
  return (options.conditions?.includes('import') && places[path]) || path
}
