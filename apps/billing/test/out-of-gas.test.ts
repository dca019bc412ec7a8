import { DEVNET_ROLES } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { makeRequirements, sign } from './support/buyer.js'
import { rpc } from './support/on-chain.js'
import { useStand } from './support/stand.js'
import { oneStore } from './support/stores.js'
import { until } from './support/until.js'

const SIGNER = DEVNET_ROLES.facilitators[0].address

describe.each(oneStore())('a signer that cannot pay for gas, on $name', (store) => {
  const test = store.missing === null ? it : it.skip
  const stand = useStand(store)
  const setBalance = (wei: bigint) => rpc(stand.devnet.rpcUrl, 'anvil_setBalance', [SIGNER, `0x${wei.toString(16)}`])
  const health = () => stand.billing.send('/health')
  const authorize = async () => stand.billing.authorize(await sign())

  test('refuses payments and makes /health answer 503 until it is funded again', async () => {
    // A payment that is already authorized still settles.
    const promised = await stand.billing.authorizeNew()
    const all = BigInt(String(await rpc(stand.devnet.rpcUrl, 'eth_getBalance', [SIGNER, 'latest'])))
    // Three settlements at the fees that billing offers: twice the base fee plus the node's priority fee.
    const { baseFeePerGas } = (await rpc(stand.devnet.rpcUrl, 'eth_getBlockByNumber', ['latest', false])) as {
      baseFeePerGas: string
    }
    const priority = BigInt(String(await rpc(stand.devnet.rpcUrl, 'eth_maxPriorityFeePerGas', [])))
    await setBalance(3n * 130_000n * (2n * BigInt(baseFeePerGas) + priority))
    await until(async () => (await health()).status === 503)
    expect((await health()).body).toMatchObject({
      status: 'unavailable',
      chains: {
        'eip155:31337': { status: 'out of gas', settlementsLeft: { [SIGNER.toLowerCase()]: expect.any(Number) } },
      },
    })
    expect(await authorize()).toMatchObject({ outcome: 'refused', reason: 'facilitator_out_of_gas' })
    const payload = await sign()
    expect((await stand.billing.verify(payload)).body).toMatchObject({
      isValid: false,
      invalidReason: 'facilitator_out_of_gas',
    })
    expect((await stand.billing.send('/metrics')).body).toMatch(/^billing_signer_settlements_left\{.*\} [0-9]$/m)
    expect((await stand.billing.charge(promised.id, '5')).payment.state).toBe('settled')

    await setBalance(all)
    await until(async () => (await health()).status === 200)
    // Nothing of the refused authorization was kept.
    expect(await stand.billing.authorize(payload)).toMatchObject({ outcome: 'authorized' })
  })

  test('is not offered while another signer can pay', async () => {
    const two = DEVNET_ROLES.facilitators.slice(0, 2)
    const keys = two.map(({ privateKey }) => privateKey)
    const addresses = two.map(({ address }) => address.toLowerCase()).sort()
    const billing = await runBilling(stand.devnet.rpcUrl, {
      ...(await store.variables()),
      FACILITATOR_PRIVATE_KEYS: keys.join(','),
    })
    const offered = async () => {
      const { kinds } = (await billing.send('/supported')).body as {
        kinds: { extra: { facilitatorAddress: string; facilitatorAddresses: `0x${string}`[] } }[]
      }
      const { facilitatorAddress, facilitatorAddresses = [] } = kinds[0]?.extra ?? {}
      expect(facilitatorAddress).toBe(facilitatorAddresses[0])
      return facilitatorAddresses
    }
    try {
      const all = await offered()
      expect(all).toEqual(addresses)
      const [lowest] = all
      const balance = await rpc(stand.devnet.rpcUrl, 'eth_getBalance', [lowest, 'latest'])
      await rpc(stand.devnet.rpcUrl, 'anvil_setBalance', [lowest, '0x0'])
      const [other] = await until(offered, ([first]) => first !== lowest)
      expect((await billing.authorizeNew(makeRequirements({ facilitator: other as string }))).facilitator).toBe(other)
      await rpc(stand.devnet.rpcUrl, 'anvil_setBalance', [lowest, balance])
      await until(offered, ({ length }) => length === 2)
    } finally {
      await billing.close()
    }
  })
})
