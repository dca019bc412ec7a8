import base from '../../jest.config.base.mjs'

export default {
  ...base,
  globalSetup: '<rootDir>/test/support/stores-setup.mjs',
  globalTeardown: '<rootDir>/test/support/stores-teardown.mjs',
}
