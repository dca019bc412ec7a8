/** Jest's `globalTeardown`. */
export default function tearDown() {
  return globalThis.tearDownStores()
}
