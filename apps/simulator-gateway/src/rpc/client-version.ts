import { readFileSync } from 'node:fs'
import type { Engine } from '@upfront/simulation'

const manifest: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

export const { version } = manifest

/** Answer of `web3_clientVersion`, such as `upfront/0.1.0/revm-43.0.3/node-20.20.2`. */
export function clientVersion(engine: Engine): string {
  return `upfront/${version}/revm-${engine.version}/node-${process.versions.node}`
}
