import base from '../../jest.config.base.mjs'

/** Tests assert no clock: this only ends one that hangs, on a machine that has much else to do. */
export default { ...base, testTimeout: 300_000 }
