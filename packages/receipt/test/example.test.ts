import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createPortableEngine } from '@upfront/engine-revm'
import { verify } from '../src/index.js'
import { GenesisState, sell } from './sale.js'

const FILE = fileURLToPath(new URL('../example.json', import.meta.url))
const PAYLOAD = {
  blockStateCalls: [
    { calls: [{ from: `0x${'a1'.repeat(20)}`, to: `0x${'b0'.repeat(20)}`, value: '0x0', input: '0x' }] },
  ],
}

describe('example.json of the package', () => {
  // `WRITE_EXAMPLE=1 npm test -- test/example` writes it again.
  it('is a bill that is right', async () => {
    const engine = createPortableEngine({ threads: 1 })
    try {
      if (process.env.WRITE_EXAMPLE) {
        const exchange = await sell(PAYLOAD, engine, await new GenesisState().fill())
        writeFileSync(FILE, `${JSON.stringify(exchange, null, 2)}\n`)
      }
      expect(await verify(JSON.parse(readFileSync(FILE, 'utf8')), { engine })).toMatchObject({ verdict: 'right' })
    } finally {
      await engine.close()
    }
  })
})
