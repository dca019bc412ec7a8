import base from '../../jest.config.base.mjs'

export default {
  ...base,
  // Tests assert no clock: this only ends one that hangs, on a machine that has much else to do.
  testTimeout: 300_000,
  globalSetup: '<rootDir>/test/support/stores-setup.mjs',
  globalTeardown: '<rootDir>/test/support/stores-teardown.mjs',
}
