// jest's resolver in `npm test`: imports find what scripts/bundle.mjs has bundled in its bundle. `require` finds it where it was.
const places = require(`${process.env.BUNDLED}/places.json`)

module.exports = (request, options) => {
  const path = options.defaultResolver(request, options)
  return (options.conditions?.includes('import') && places[path]) || path
}
