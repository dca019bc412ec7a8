import { fileURLToPath } from 'node:url'

const script = (name) => fileURLToPath(new URL(`scripts/${name}`, import.meta.url))

/** Shared by every package: TypeScript through swc, as native ES modules (needs --experimental-vm-modules). */
export default {
  testEnvironment: 'node',
  // No test asserts a duration: this only ends tests that hang, even on a busy machine.
  testTimeout: 300_000,
  testMatch: ['<rootDir>/src/**/*.test.ts', '<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  extensionsToTreatAsEsm: ['.ts'],
  // `npm test` bundles packages: see scripts/bundle.mjs.
  ...(process.env.BUNDLED !== undefined && {
    resolver: script('jest-resolver.cjs'),
    testEnvironment: script('jest-environment.cjs'),
    runtime: script('jest-runtime.cjs'),
  }),
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          target: 'es2022',
        },
        module: { type: 'es6' },
      },
    ],
  },
}
