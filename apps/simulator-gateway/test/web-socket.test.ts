import { once } from 'node:events'
import { type Anvil, DEVNET_ROLES, startAnvil } from '@upfront/devnet'
import { WebSocketProvider } from 'ethers'
import { createPublicClient, createWalletClient, http, webSocket } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import WebSocket from 'ws'
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js'
import { TARGET } from './simulate-params.js'
import { connect } from './wire-client.js'

/** Emits LOG1 with the topic 0x2a. */
const EMITTER = '0x602a60006000a1'

describe('JSON-RPC over WebSocket', () => {
  let anvil: Anvil
  let gateway: GatewayProcess
  const ask = async (method: string, params: unknown[] = []) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(anvil.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    return ((await response.json()) as { result: unknown }).result as Record<string, unknown>
  }
  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0'])
    gateway = await startGatewayProcess({
      UPSTREAM_RPC_URL: anvil.rpcUrl,
      UPSTREAM_WS_URL: anvil.rpcUrl.replace('http', 'ws'),
      CORS_ORIGINS: 'https://wallet.example',
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await anvil?.stop()
  })

  it('answers what POST answers, in the shapes of its address', async () => {
    const revert = [{ blockStateCalls: [{ calls: [{ to: TARGET, input: '0x' }] }] }, 'latest']
    const plain = await connect(gateway.url)
    expect(await plain.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
    expect(await plain.call('eth_simulateV1', revert)).toMatchObject({ result: [{ calls: [{ status: '0x1' }] }] })
    expect(await plain.call('no_such')).toMatchObject({ error: { code: -32601 } })
    plain.socket.send('{"jsonrpc":')
    plain.socket.send(JSON.stringify([{ jsonrpc: '2.0', id: 1_001, method: 'eth_chainId' }]))
    await plain.call('net_version')
    expect(plain.messages.some(({ error }) => error?.code === -32700)).toBe(true)
    expect(plain.messages).toContainEqual([{ jsonrpc: '2.0', id: 1_001, result: '0x7a69' }])
    const typed = await connect(`${gateway.url}/ethereum`)
    expect(await typed.call('eth_chainId')).toMatchObject({ result: '0x7a69' })
    plain.socket.close()
    typed.socket.close()
  })

  it('announces every head as the node does, and none twice', async () => {
    const client = await connect(gateway.url)
    const { result: id } = await client.call('eth_subscribe', ['newHeads'])
    expect(id).toMatch(/^0x[0-9a-f]{32}$/)
    await ask('anvil_mine', ['0x5'])
    await ask('evm_mine')
    const heads = await client.notifications(id, 6)
    for (const [index, head] of heads.entries()) {
      const block = await ask('eth_getBlockByHash', [head.hash, false])
      expect(head).toMatchObject({ number: block.number, parentHash: block.parentHash, logsBloom: block.logsBloom })
      expect(head).not.toHaveProperty('transactions')
      if (index > 0) expect(head.parentHash).toBe(heads[index - 1]!.hash)
    }
    expect(await client.call('eth_unsubscribe', [id])).toMatchObject({ result: true })
    expect(await client.call('eth_unsubscribe', [id])).toMatchObject({ error: { message: 'subscription not found' } })
    expect(heads).toHaveLength(6)
    client.socket.close()
  })

  it('sends the logs that a filter lets through, and takes back those of a reorganisation', async () => {
    await ask('anvil_setCode', [TARGET, EMITTER])
    const client = await connect(gateway.url)
    const topic = `0x${'2a'.padStart(64, '0')}`
    const { result: mine } = await client.call('eth_subscribe', ['logs', { address: TARGET, topics: [topic] }])
    const { result: others } = await client.call('eth_subscribe', ['logs', { topics: [`0x${'00'.repeat(32)}`] }])
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    const hash = await wallet.sendTransaction({ to: TARGET, gas: 100_000n })
    const [log] = await client.notifications(mine, 1)
    expect(log).toMatchObject({ address: TARGET, topics: [topic], transactionHash: hash, removed: false })
    await ask('anvil_reorg', [1, []])
    await ask('evm_mine')
    const [, removed] = await client.notifications(mine, 2)
    expect(removed).toEqual({ ...log, removed: true })
    expect(client.messages.filter(({ params }) => params?.subscription === others)).toEqual([])
    client.socket.close()
  })

  it('tells when the outcome of a simulation changes, and not when it stays', async () => {
    const someone = '0x00000000000000000000000000000000000d0b0d'
    const client = await connect(gateway.url)
    const calls = [{ from: someone, to: TARGET, value: '0x1', gas: '0x186a0' }]
    const { result: id } = await client.call('upfront_subscribe', ['simulation', { blockStateCalls: [{ calls }] }])
    const [first] = await client.notifications(id, 1)
    expect(first).toMatchObject({ error: { message: expect.stringContaining('insufficient funds') } })
    const { result: heads } = await client.call('eth_subscribe', ['newHeads'])
    for (let count = 0; count < 3; count++) await ask('evm_mine')
    await client.notifications(heads, 3)
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    await wallet.sendTransaction({ to: someone, value: 1n })
    const [, second] = await client.notifications(id, 2)
    expect(second).toMatchObject({ result: [{ calls: [{ status: '0x1' }] }] })
    for (let count = 0; count < 3; count++) await ask('evm_mine')
    await client.notifications(heads, 7)
    expect(await client.call('upfront_unsubscribe', [id])).toMatchObject({ result: true })
    expect(await client.notifications(id, 2)).toHaveLength(2)
    client.socket.close()
  })

  it('serves viem and ethers, which find out by themselves what is there', async () => {
    const viem = createPublicClient({
      chain: foundry,
      transport: webSocket(`${gateway.url.replace('http', 'ws')}/ethereum`),
    })
    const seen = new Promise<bigint | null>((resolve, reject) => {
      const stop = viem.watchBlocks({
        onBlock: ({ number }) => {
          stop()
          resolve(number)
        },
        onError: reject,
      })
    })
    const provider = new WebSocketProvider(`${gateway.url.replace('http', 'ws')}/ethereum`)
    const heard = new Promise<number>((resolve) => void provider.once('block', resolve))
    let open = true
    const mining = (async () => {
      while (open) {
        await ask('evm_mine')
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    })()
    expect(await seen).toBeGreaterThan(0n)
    expect(await heard).toBeGreaterThan(0)
    open = false
    await mining
    const rpc = await viem.transport.getRpcClient()
    rpc.close()
    await provider.destroy()
  })

  it.each([
    [['foo'], -32602, 'params[0]: expected one of the subscriptions newHeads, logs'],
    [['logs', { address: '0x12' }], -32602, 'params[1].address'],
    [['logs', { fromBlock: '0x1' }], -32602, 'params[1].fromBlock'],
  ])('refuses eth_subscribe %j', async (params, code, message) => {
    const client = await connect(gateway.url)
    expect(await client.call('eth_subscribe', params)).toMatchObject({
      error: { code, message: expect.stringContaining(message) },
    })
    client.socket.close()
  })

  it('says over HTTP where subscriptions are to be had', async () => {
    expect((await gateway.call('eth_subscribe', ['newHeads'])).error).toMatchObject({
      code: -32601,
      message: 'notifications not supported: subscribe over WebSocket',
    })
  })

  it('ends the connection of a client that does not read, and no other', async () => {
    const idle = await connect(gateway.url)
    const { result: id } = await idle.call('eth_subscribe', ['newHeads'])
    const deaf = await connect(gateway.url)
    for (let count = 0; count < 64; count++) await deaf.call('eth_subscribe', ['newHeads'])
    expect(await deaf.call('eth_subscribe', ['newHeads'])).toMatchObject({ error: { code: -32005 } })
    deaf.socket.pause()
    while ((await gateway.metric('upfront_subscriptions')) > 1) await ask('anvil_mine', ['0x20'])
    deaf.socket.resume()
    const [code, reason] = await once(deaf.socket, 'close')
    expect([code, String(reason)]).toEqual([1013, 'notifications are not read'])
    await idle.notifications(id, 1)
    idle.socket.close()
  })

  it.each([
    ['https://evil.example', 403],
    ['https://wallet.example', 101],
  ])('answers a page of %s with %i', async (origin, status) => {
    const socket = new WebSocket(gateway.url.replace('http', 'ws'), { origin })
    const answered = new Promise((resolve) => {
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode))
    })
    socket.on('error', () => undefined)
    expect(await answered).toBe(status)
    socket.close()
  })

  it('closes with a reason for what is too long or no text', async () => {
    for (const [message, code] of [
      ['x'.repeat(1_100_000), 1009],
      [Buffer.from('{}'), 1003],
    ] as const) {
      const { socket } = await connect(gateway.url)
      socket.send(message)
      expect((await once(socket, 'close'))[0]).toBe(code)
    }
  })

  it('tells its clients when it stops', async () => {
    const { socket } = await connect(gateway.url)
    const closed = once(socket, 'close')
    await gateway.stop()
    expect((await closed)[0]).toBe(1001)
  })
})
