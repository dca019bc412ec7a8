import { readFileSync } from 'node:fs'
import { type Devnet, startDevnet, swapRouterAbi } from '@upfront/devnet'
import type { Outcome } from '@upfront/simulation'
import { encodeFunctionData, type Hex, parseEther } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'

const DOCUMENT = readFileSync(new URL('../../../docs/outcome.md', import.meta.url), 'utf8')
const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const THIEF = '0xf000000000000000000000000000000000000666'
const TARGET = '0x7000000000000000000000000000000000000001'
const DELEGATE = '0x7000000000000000000000000000000000000002'
const RICH = { balance: '0xde0b6b3a7640000' }
const pays = (to: string) => `0 0 0 0 5 ${BigInt(to)} GAS CALL POP STOP`

let devnet: Devnet
let gateway: GatewayProcess

beforeAll(async () => {
  devnet = await startDevnet({ uniswap: true, payments: false })
  gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

/** The answer that the document shows under a heading. */
function shown(heading: string): Outcome {
  const section = DOCUMENT.split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  const block = section.split('```json\n').find((text) => text.includes('"verdict"'))!
  return JSON.parse(block.split('```')[0]!)
}

/** Asks, and shortens addresses and slots like the document: `0x7000…0001`. */
async function answered(payload: object): Promise<Outcome> {
  const params = [{ ...payload, outcome: true }, 'latest']
  const { result, error } = await gateway.call<{ calls: { outcome: Outcome }[] }[]>('upfront_simulate', params)
  if (error) throw new Error(JSON.stringify(error))
  const short = (text: string) =>
    text
      .replace(/0x[0-9a-f]{62}([0-9a-f]{2})\b/g, '0x00…$1')
      .replace(/(0x[0-9a-f]{4})[0-9a-f]{32}([0-9a-f]{4})\b/g, '$1…$2')
  return JSON.parse(short(JSON.stringify(result![0]!.calls[0]!.outcome)))
}

/** The document omits reasons similar to the first. */
function expectShown(heading: string, found: Outcome): void {
  const { verdict, because } = shown(heading)
  expect(because.length).toBeGreaterThan(0)
  expect({ verdict, because }).toEqual({ ...found, because: found.because.slice(0, because.length) })
}

describe('docs/outcome.md shows the actual answer to', () => {
  it('a trap', async () => {
    const code = assemble(`PREVRANDAO ISZERO >honest JUMPI ${pays(THIEF)} @honest ${pays(FRIEND)}`)
    const stateOverrides = { [OWNER]: RICH, [TARGET]: { ...RICH, code } }
    expectShown(
      'A trap',
      await answered({ blockStateCalls: [{ stateOverrides, calls: [{ from: OWNER, to: TARGET }] }] }),
    )
  })

  it('a sandwich', async () => {
    const { token0, router, pairV2 } = devnet.uniswap!
    const from = devnet.accounts.deployer.address
    const swap = (amount: string, to: Hex) =>
      encodeFunctionData({
        abi: swapRouterAbi,
        functionName: 'swapV2',
        args: [pairV2, token0, parseEther(amount), 0n, to],
      })
    const calls = [{ from, to: router, input: swap('1', OWNER) }]
    const waiting = [{ from, to: router, input: swap('5000', FRIEND) }]
    expectShown('A sandwich', await answered({ blockStateCalls: [{ calls }], waiting }))
  })

  it('a delegation', async () => {
    const stateOverrides = {
      [OWNER]: { ...RICH, code: `0xef0100${DELEGATE.slice(2)}` },
      [DELEGATE]: { code: assemble(pays(FRIEND)) },
    }
    expectShown(
      'A delegation',
      await answered({ blockStateCalls: [{ stateOverrides, calls: [{ from: OWNER, to: OWNER }] }] }),
    )
  })
})
