import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, type RpcReply, startGatewayProcess } from './gateway-process.js'
import { HOSTILE_PROGRAMS } from './programs.js'
import { type BlockResult, callOf, TARGET } from './simulate-params.js'

/** Short, to keep the tests fast: under load, a loop may run longer. */
const REQUEST_TIMEOUT_MS = 600
/** Concurrent requests of one attacker. */
const ATTACKERS = 4
const HUGE_GAS = '0xffffffffffff'

/** The request took its whole time, or the node did: requests stop waiting for it 250 ms earlier, and name it. */
function expectTooSlow(error: RpcReply<unknown>['error']): void {
  if ((error?.data as { fault?: string } | undefined)?.fault !== 'timeout')
    expect(error).toMatchObject({ code: -32005 })
}

let anvil: Anvil

beforeAll(async () => {
  anvil = await startAnvil(['--port', '0'])
})
afterAll(() => anvil?.stop())

describe.each(['auto', 'portable'])('hostile programs, on engine %s', (engine) => {
  let gateway: GatewayProcess

  beforeAll(async () => {
    gateway = await startGatewayProcess({
      UPSTREAM_RPC_URL: anvil.rpcUrl,
      EVM_ENGINE: engine,
      LIMITS: { timeoutMs: REQUEST_TIMEOUT_MS },
    })
    await gateway.call('eth_simulateV1', callOf('0x00'))
  })
  afterAll(() => gateway?.stop())

  /**
   * Sends small requests of another client, one after another, until `work` is done: each must be answered, and none may wait for
   * `work` to end. The benchmark measures how fast they are.
   */
  async function expectSmallRequestsServed(work: Promise<unknown>): Promise<void> {
    let working = true
    const done = work.finally(() => {
      working = false
    })
    let servedMeanwhile = 0
    let asked = 0
    while (working) {
      asked++
      const { result, error } = await gateway.call<BlockResult[]>('eth_simulateV1', callOf('0x602a60005260206000f3'))
      if (working) servedMeanwhile++
      if (error === undefined) expect(result?.[0]?.calls[0]?.status).toBe('0x1')
      else expectTooSlow(error)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await done
    if (asked > 1) expect(servedMeanwhile).toBeGreaterThan(0)
  }

  it.each(Object.entries(HOSTILE_PROGRAMS))('%s: small requests are answered in the meantime', async (_, program) => {
    const override = {
      stateOverrides: { [TARGET]: { code: assemble(program) } },
      blockOverrides: { gasLimit: HUGE_GAS },
    }
    const params = [{ blockStateCalls: [{ ...override, calls: [{ to: TARGET, gas: HUGE_GAS }] }] }, 'latest']
    const attack = Promise.all(
      Array.from({ length: ATTACKERS }, () => gateway.call<BlockResult[]>('eth_simulateV1', params)),
    )
    await expectSmallRequestsServed(attack)
    for (const { result, error } of await attack) {
      if (error === undefined) expect(result?.[0]?.calls[0]?.gasUsed).toMatch(/^0x/)
      else expectTooSlow(error)
    }
  })

  it('950 calls with long return data get -32005, and small requests are answered in the meantime', async () => {
    const code = assemble('0x018000 0 RETURN')
    const blockOverrides = { gasLimit: HUGE_GAS }
    const calls = Array(950).fill({ to: TARGET })
    const blockStateCalls = [{ blockOverrides, stateOverrides: { [TARGET]: { code } }, calls }]
    const attack = Promise.all([1, 2, 3].map(() => gateway.call('eth_simulateV1', [{ blockStateCalls }, 'latest'])))
    await expectSmallRequestsServed(attack)
    for (const { error } of await attack) expectTooSlow(error)
  })

  it('memory stays below 2 GB, and no internal error is logged', async () => {
    expect(await gateway.metric('process_resident_memory_bytes')).toBeLessThan(2_000_000_000)
    expect(gateway.output()).not.toContain('internal error')
    expect(gateway.output()).not.toContain('MaxListenersExceededWarning')
    // A thread that was abandoned while it copied megabytes takes a while to end.
    while ((await gateway.call('eth_simulateV1', callOf('0x00'))).error !== undefined);
  })
})
