const { pathToFileURL } = require('node:url')
const { default: Runtime } = require('jest-runtime')

const BUNDLES = `${pathToFileURL(process.env.BUNDLED)}/`
/** Evaluated modules of bundles, by URL. */
const bundles = new Map()
/** jest's own modules, by path. */
const ofJest = new Map()
let latest

/**
 * jest's runtime in `npm test`: a worker evaluates bundles of packages and jest's own modules once, not for each test file, which took half
 * of the time of a unit test's file. A package's sources and tests are evaluated for each file, as always.
 */
class WorkerRuntime extends Runtime {
  constructor(...args) {
    super(...args)
    latest = this
    const { registries, esmLoader, coreModule } = this
    for (const [url, module] of bundles) registries.esModuleRegistry.set(url, module)
    registries.internalModuleRegistry = ofJest
    registries.clear = () => registries.clearForReset()
    // A kept module was loaded by a runtime that has ended: it imports and requires with the latest.
    this.import = esmLoader.dynamicImport
    esmLoader.dynamicImport = (...args) => latest.import(...args)
    const Module = coreModule.getMockedModuleClass()
    this.createRequire = Module.createRequire
    Module.createRequire = (from) => Object.assign((name) => latest.createRequire(from)(name), this.createRequire(from))
  }

  teardown() {
    for (const [url, module] of this.registries.esModuleRegistry)
      if (url.startsWith(BUNDLES) && module.status === 'evaluated') bundles.set(url, module)
    super.teardown()
    // It has the state of the file's tests.
    for (const path of ofJest.keys()) if (path.includes('/jest-circus/')) ofJest.delete(path)
  }
}

module.exports = { __esModule: true, default: WorkerRuntime }
