import { DEVNET_ROLES } from '@upfront/devnet'
import type { Outcome, ShownDependencies } from '@upfront/simulation'
import { type Hex, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type PreconfirmedStand, send, startStand, until } from './preconfirmed-stand.js'
import { TARGET } from './simulate-params.js'

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'

let stand: PreconfirmedStand

beforeAll(async () => {
  stand = await startStand()
})
afterAll(() => stand?.stop())

/** Facts and outcome of a payment to a friend that depends on somebody's balance. */
async function ask(somebody: Hex, block: string) {
  const code = assemble(
    `${BigInt(somebody)} BALANCE ISZERO >on JUMPI 0 0 0 0 5 ${BigInt(FRIEND)} GAS CALL POP @on STOP`,
  )
  const stateOverrides = { [OWNER]: { balance: '0xde0b6b3a7640000' }, [TARGET]: { code, balance: '0x5' } }
  const calls = [{ from: OWNER, to: TARGET }]
  const payload = { blockStateCalls: [{ stateOverrides, calls }], depends: true, outcome: true }
  const { result } = await stand.ask<{ calls: { depends: ShownDependencies; outcome: Outcome }[] }[]>(
    'upfront_simulate',
    [payload, block],
  )
  return result[0]!.calls[0]!
}

it('names facts changed by the block under construction, and tries the state before it', async () => {
  for (;;) {
    const somebody = privateKeyToAccount(generatePrivateKey()).address.toLowerCase() as Hex
    await send(stand, DEVNET_ROLES.deployer.privateKey, { to: somebody, value: parseEther('1'), gas: 21_000n })
    await until(async () => (await stand.ask<Hex>('eth_getBalance', [somebody, 'pending'])).result !== '0x0')
    const { depends, outcome } = await ask(somebody, 'pending')
    const fact = { kind: 'balance', address: somebody }
    const found = depends.facts.find(({ fact }) => fact.kind === 'balance' && fact.address === somebody)
    expect(found).toMatchObject({ fact, reached: ['branch'] })
    // Its block may have been sealed in the meantime.
    if (found?.isPending === undefined) continue
    const under = 'a place before what the block under construction holds'
    expect(outcome).toEqual({
      verdict: 'changes',
      because: [{ fact, under, effect: expect.stringMatching(/^no transfer/) }],
    })
    const sealed = await ask(FRIEND, 'latest')
    expect(sealed.depends.facts.filter(({ isPending }) => isPending)).toEqual([])
    return
  }
}, 60_000)
