import { type Anvil, startAnvil } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// While the node is asked for its head, execution starts on the last known head. No answer may ever show it.
let anvil: Anvil
let gateway: GatewayProcess

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
  gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await anvil?.stop()
})

interface Answer {
  state: string | null
  result?: { number: string; parentHash: string; calls: { status: string; returnData: string }[] }[]
  error?: { code: number; message: string }
}

async function post(url: string, method: string, params: unknown[]): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return { ...((await response.json()) as object), state: response.headers.get('upfront-state') }
}

const mine = () => post(anvil.rpcUrl, 'evm_mine', [])
const simulate = (request: object) => post(gateway.url, 'eth_simulateV1', [request, 'latest'])
const latest = async () => (await post(anvil.rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as unknown as Head
type Head = { result: { number: string; hash: string } }

const hex = (value: bigint) => `0x${value.toString(16)}`
const address = (n: number) => `0x${n.toString(16).padStart(40, 'b')}`
/** Returns the balance of the account that the input names. */
const BALANCE_OF = { '0x00000000000000000000000000000000000ba1a0': { code: '0x6000353160005260206000f3' } }
const balanceOf = (account: string, from: string) => ({
  from,
  to: '0x00000000000000000000000000000000000ba1a0',
  input: `0x${account.slice(2).padStart(64, '0')}`,
})

describe('eth_simulateV1 on latest', () => {
  it('runs on the block that the client has just mined, and reports it', async () => {
    for (let round = 0; round < 40; round += 1) {
      await post(anvil.rpcUrl, 'anvil_setBalance', [address(1), hex(BigInt(round) + 1n)])
      await mine()
      const { result: head } = await latest()
      // Every other round reads state that is not cached.
      const calls = [balanceOf(address(1), address(round % 2 === 0 ? 2 : 1_000 + round))]
      const { result, state } = await simulate({ blockStateCalls: [{ stateOverrides: BALANCE_OF, calls }] })
      expect(result?.[0]).toMatchObject({ number: hex(BigInt(head.number) + 1n), parentHash: head.hash })
      expect(BigInt(result?.[0]?.calls[0]?.returnData ?? 0)).toBe(BigInt(round) + 1n)
      expect(state).toBe(`latest; block=${BigInt(head.number)}`)
    }
  })

  it('validates block overrides against the block just mined', async () => {
    const { result: before } = await latest()
    const onlyThen = { blockStateCalls: [{ blockOverrides: { number: hex(BigInt(before.number) + 1n) } }] }
    expect((await simulate(onlyThen)).result).toHaveLength(1)
    await mine()
    expect((await simulate(onlyThen)).error?.code).toBe(-38020)
    const far = { blockStateCalls: [{ blockOverrides: { number: hex(BigInt(before.number) + 258n) } }] }
    await post(anvil.rpcUrl, 'anvil_mine', ['0x10'])
    expect((await simulate(far)).error).toBeUndefined()
  })

  it('runs each request on a single block while blocks are mined', async () => {
    let going = true
    const miner = (async () => {
      for (let n = 10n; going; n += 1n) {
        await post(anvil.rpcUrl, 'anvil_setBalance', [address(3), hex(n)])
        await post(anvil.rpcUrl, 'anvil_setBalance', [address(4), hex(n)])
        await mine()
      }
    })()
    const asker = async (id: number) => {
      for (let round = 0; round < 60; round += 1) {
        const calls = [3, 4, 3].map((n) => balanceOf(address(n), address(100_000 + id * 1_000 + round)))
        const { result, state } = await simulate({ blockStateCalls: [{ stateOverrides: BALANCE_OF, calls }] })
        expect(state).toBe(`latest; block=${BigInt(result?.[0]?.number ?? 0) - 1n}`)
        expect(new Set(result?.[0]?.calls.map(({ status }) => status))).toEqual(new Set(['0x1']))
      }
    }
    try {
      await Promise.all([1, 2, 3, 4].map(asker))
    } finally {
      going = false
      await miner
    }
  })
})
