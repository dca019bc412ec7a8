import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const TARGET = '0x7000000000000000000000000000000000000001'
const RICH = { balance: '0xde0b6b3a7640000' }
/** The node has no value of this slot. */
const LOST = 777n
const PAY = `0 0 0 0 5 ${BigInt(FRIEND)} GAS CALL POP STOP`
const WHY = expect.stringContaining('upstream 127.0.0.1')

let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
let gateway: GatewayProcess

beforeAll(async () => {
  const eth_getStorageAt = (_: unknown, slot: unknown) => {
    if (BigInt(String(slot)) === LOST) throw new Error('this is lost')
    return `0x${'0'.repeat(64)}`
  }
  upstream = await startGenesisUpstream({ answers: { eth_getStorageAt } })
  gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'ethereum' })
})
afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

async function ask(program: string, shown: object) {
  const stateOverrides = { [OWNER]: RICH, [FRIEND]: RICH, [TARGET]: { ...RICH, code: assemble(program) } }
  const payload = { blockStateCalls: [{ stateOverrides, calls: [{ from: OWNER, to: TARGET }] }], ...shown }
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  const { result, error } = await gateway.call<any>('upfront_simulate', [payload, 'latest'])
  if (error) throw new Error((error as { message: string }).message)
  return result[0].calls[0]
}

/** The call itself does not read the slot that the node lacks. */
it('returns the result without analyses that need a slot the node lacks, and names them', async () => {
  const lookingWithLittle = `GAS 100000 LT >on JUMPI ${LOST} SLOAD POP @on 0 0 0 0 5 ${BigInt(FRIEND)} GAS CALL POP STOP`
  const shown = await ask(lookingWithLittle, { gasLimits: true, outcome: true })
  expect(shown.status).toBe('0x1')
  expect(shown.gasLimit).toBeUndefined()
  expect(shown.gasLimitLeftOut).toEqual(WHY)
  expect(shown.outcome).toMatchObject({ verdict: 'holds', leftOut: [WHY] })
})

it('leaves out a waiting transaction that needs a slot the node lacks, and names it', async () => {
  const program = `CALLDATASIZE >look JUMPI ${PAY} @look ${LOST} SLOAD POP STOP`
  const waiting = [{ from: FRIEND, to: TARGET, input: '0x01' }]
  const { outcome } = await ask(program, { waiting, outcome: true })
  expect(outcome).toEqual({ verdict: 'holds', because: [], leftOut: [WHY] })
  expect(outcome.leftOut[0]).toMatch(/^a waiting transaction: /)
})
