import { type Anvil, DEVNET_ACCOUNTS, type FaultProxy, rpc, startAnvil, startFaultProxy } from '@upfront/devnet'
import { type Hex, keccak256, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { startStand, until } from './preconfirmed-stand.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]
const BOB = '0x00000000000000000000000000000000000d0b0d'

function sign(nonce: number): Promise<Hex> {
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  const transaction = { chainId: 31_337, type: 'eip1559', nonce, to: BOB, value: 1n, gas: 21_000n, ...fees } as const
  return privateKeyToAccount(ALICE.privateKey).signTransaction(transaction)
}

describe('SENDING=on', () => {
  let anvil: Anvil
  let node: FaultProxy
  let gateway: GatewayProcess

  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0', '--no-mining'])
    node = await startFaultProxy(anvil.rpcUrl)
    gateway = await startGateway({ UPSTREAM_RPC_URL: node.url, SENDING: 'on' })
  })
  afterAll(async () => {
    await gateway?.stop()
    await node?.stop()
    await anvil?.stop()
  })
  afterEach(() => {
    node.faultOf = undefined
  })

  const nonceAt = async (block: string) =>
    (await gateway.call('eth_getTransactionCount', [ALICE.address, block])).result

  it('eth_sendRawTransaction sends a signed transaction, which counts in the nonce at pending', async () => {
    const raw = await sign(0)
    expect(await gateway.call('eth_sendRawTransaction', [raw])).toMatchObject({ result: keccak256(raw) })
    expect(await nonceAt('pending')).toBe('0x1')
    expect(await nonceAt('latest')).toBe('0x0')
    await rpc(anvil.rpcUrl, 'evm_mine', [])
    const receipt = await gateway.call('eth_getTransactionReceipt', [keccak256(raw)])
    expect(receipt.result).toMatchObject({ status: '0x1' })
  })

  it('returns the same hash if the same transaction is sent twice', async () => {
    const raw = await sign(1)
    const sent = await gateway.call('eth_sendRawTransaction', [raw])
    expect(sent).toMatchObject({ result: keccak256(raw) })
    expect(await gateway.call('eth_sendRawTransaction', [raw])).toEqual(sent)
    await rpc(anvil.rpcUrl, 'evm_mine', [])
  })

  it('returns the hash with the error if the answer is lost, and does not send again', async () => {
    let attempts = 0
    node.faultOf = (method) => {
      if (!method.startsWith('eth_sendRaw')) return undefined
      attempts += 1
      return 'reset-after'
    }
    const raw = await sign(2)
    const { error } = await gateway.call('eth_sendRawTransaction', [raw])
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(keccak256(raw)) })
    expect(error?.data).toEqual({ hash: keccak256(raw) })
    expect(attempts).toBe(1)
    node.faultOf = undefined
    expect(await gateway.call('eth_getTransactionByHash', [keccak256(raw)])).toMatchObject({ result: { nonce: '0x2' } })
    await rpc(anvil.rpcUrl, 'evm_mine', [])
  })

  it("returns the node's own error", async () => {
    const { error } = await gateway.call('eth_sendRawTransaction', [await sign(0)])
    expect(error?.message).toMatch(/nonce too low/)
    expect((await gateway.call('eth_sendRawTransaction', ['0x12'])).error).toBeDefined()
    expect((await gateway.call('eth_sendRawTransaction', ['zz'])).error).toMatchObject({ code: -32602 })
    expect((await gateway.call('eth_sendRawTransaction', {})).error).toMatchObject({ code: -32602 })
  })

  it('eth_sendRawTransactionSync waits for the receipt', async () => {
    const raw = await sign(3)
    const answer = gateway.call('eth_sendRawTransactionSync', [raw])
    await until(async () => (await nonceAt('pending')) === '0x4')
    await rpc(anvil.rpcUrl, 'evm_mine', [])
    expect((await answer).result).toMatchObject({ transactionHash: keccak256(raw), status: '0x1' })
  })

  it('lists both methods in rpc.discover', async () => {
    const { result } = await gateway.call<{ methods: { name: string }[] }>('rpc.discover')
    expect(result?.methods.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['eth_sendRawTransaction', 'eth_sendRawTransactionSync']),
    )
  })
})

describe('SENDING=on with a Flashblocks stream', () => {
  it('counts a sent transaction in the nonce at pending before a flashblock shows it', async () => {
    const stand = await startStand({ blockTimeSeconds: 4 }, { SENDING: 'on' })
    try {
      const nonceAtPending = async () =>
        Number((await stand.ask<Hex>('eth_getTransactionCount', [ALICE.address, 'pending'])).result)
      const first = await nonceAtPending()
      for (const nonce of [first, first + 1]) {
        await stand.ask('eth_sendRawTransaction', [await sign(nonce)])
        expect(await nonceAtPending()).toBe(nonce + 1)
      }
      const balance = async () => (await stand.ask<Hex>('eth_getBalance', [BOB, 'pending'])).result
      await until(async () => (await balance()) === numberToHex(2n))
      expect(await nonceAtPending()).toBe(first + 2)
    } finally {
      await stand.stop()
    }
  })
})

it('rejects sending with -32601 and names SENDING if it is off', async () => {
  const anvil = await startAnvil(['--port', '0'])
  const gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl })
  try {
    for (const method of ['eth_sendRawTransaction', 'eth_sendRawTransactionSync']) {
      const { error } = await gateway.call(method, [await sign(0)])
      expect(error).toMatchObject({ code: -32601, message: expect.stringContaining('SENDING') })
    }
    expect(await rpc(anvil.rpcUrl, 'eth_getTransactionCount', [ALICE.address, 'pending'])).toBe('0x0')
  } finally {
    await gateway.stop()
    await anvil.stop()
  }
})
