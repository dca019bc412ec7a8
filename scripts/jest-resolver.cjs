// jest's resolver in `npm test`: redirects imports to the bundles of scripts/bundle.mjs. `require` resolves as usual.
const places = require(`${process.env.BUNDLED}/places.json`)

module.exports = (request, options) => {
  const path = options.defaultResolver(request, options)
  return (options.conditions?.includes('import') && places[path]) || path
}
