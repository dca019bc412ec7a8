const vm = require('node:vm')
const { TestEnvironment } = require('jest-environment-node')

const { createContext } = vm
// jest's global object is a proxy, whose handler runs, for a microsecond, wherever code names a global such as `Object`. An ordinary one
// takes nanoseconds, and a worker that keeps one context has no use for what the proxy notes.
vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY)

/** Where jest's `expect`, which jest-runtime.cjs keeps, has its matchers. */
const MATCHERS = Symbol.for('$$jest-matchers-object')

class WorkerEnvironment extends TestEnvironment {
  /** Objects that tests change, and their properties before. */
  #before = [this.global, this.global.process, this.global.process.env].map((object) => [object, properties(object)])

  async teardown() {
    this.fakeTimersModern.useRealTimers()
    this.global.process.removeAllListeners()
    for (const [object, before] of this.#before) restore(object, before)
  }
}

let kept
/**
 * jest's environment in `npm test`: the test files of a worker share a V8 context, so that modules can be kept (see jest-runtime.cjs).
 * After each file, the globals, `process` and its environment variables are again what they were.
 */
module.exports = function environment(config, context) {
  kept ??= new WorkerEnvironment(config, context)
  return kept
}

function properties(object) {
  return new Map(Reflect.ownKeys(object).map((key) => [key, Reflect.getOwnPropertyDescriptor(object, key)]))
}

function restore(object, before) {
  const after = properties(object)
  for (const key of after.keys()) if (!before.has(key) && key !== MATCHERS) Reflect.deleteProperty(object, key)
  for (const [key, was] of before) {
    const is = after.get(key)
    if (is?.value !== was.value || is?.get !== was.get) Reflect.defineProperty(object, key, was)
  }
}
