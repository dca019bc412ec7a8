import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, DEVNET_ROLES, startAnvil, startSocketProxy } from '@upfront/devnet'
import { WebSocketProvider } from 'ethers'
import { createPublicClient, createWalletClient, http, parseAbiItem, toEventSelector, webSocket } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import WebSocket from 'ws'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { callOf, TARGET } from './simulate-params.js'
import { connect } from './web-socket-client.js'

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
    gateway = await startGateway({
      UPSTREAM_RPC_URL: anvil.rpcUrl,
      UPSTREAM_WS_URL: anvil.rpcUrl.replace('http', 'ws'),
      CORS_ORIGINS: 'https://wallet.example',
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await anvil?.stop()
  })

  it('answers like POST, in the shapes of its path', async () => {
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

  it('newHeads sends every head as the node has it, once', async () => {
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

  it('newHeads sends all of 90 heads that are mined at once', async () => {
    const client = await connect(gateway.url)
    const { result: id } = await client.call('eth_subscribe', ['newHeads'])
    const numbers = async (count: number) =>
      (await client.notifications(id, count)).map(({ number }) => Number(number as string))
    await ask('anvil_mine', ['0x5a'])
    const [first = 0, ...others] = await numbers(90)
    expect(others).toEqual(Array.from({ length: 89 }, (_, at) => first + 1 + at))
    client.socket.close()
  })

  it('logs sends all 2,000 logs of a block to 8 clients, in order', async () => {
    const emitter = '0x0000000000000000000000000000000000011095'
    await ask('anvil_setCode', [emitter, assemble('2000 @next DUP1 0 0 LOG1 1 SWAP1 SUB DUP1 >next JUMPI')])
    const clients = await Promise.all(Array.from({ length: 8 }, () => connect(gateway.url)))
    const ids = await Promise.all(
      clients.map(async ({ call }) => (await call('eth_subscribe', ['logs', { address: emitter }])).result),
    )
    const [from] = (await ask('eth_accounts')) as unknown as string[]
    await ask('eth_sendTransaction', [{ from, to: emitter, gas: '0x989680' }])
    for (const [at, client] of clients.entries()) {
      const logs = await client.notifications(ids[at], 2_000)
      expect(logs.map(({ logIndex }) => Number(logIndex as string))).toEqual(Array.from({ length: 2_000 }, (_, n) => n))
      client.socket.close()
    }
  })

  it('closes the connection if more heads come at once than it can send', async () => {
    const heads = await startSocketProxy(anvil.wsUrl)
    const own = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, UPSTREAM_WS_URL: heads.url })
    try {
      const client = await connect(own.url)
      const { result: id } = await client.call('eth_subscribe', ['newHeads'])
      const next = async () => {
        await ask('evm_mine')
        return client.messages.length
      }
      while ((await next()) < 3) await sleep(20)
      heads.muted = true
      const closed = once(client.socket, 'close')
      // If the gateway asks for the head while they are mined, it can send them in two parts.
      while (client.socket.readyState === client.socket.OPEN) {
        await ask('anvil_mine', ['0x190'])
        await sleep(500)
      }
      const [code, reason] = (await closed) as [number, Buffer]
      expect([code, String(reason)]).toEqual([1013, expect.stringContaining('subscribe again')])
      const told = (await client.notifications(id, 1)).map(({ number }) => Number(number as string))
      expect(told.every((number, at) => at === 0 || number === told[at - 1]! + 1)).toBe(true)
      heads.muted = false
      const again = await connect(own.url)
      const { result: other } = await again.call('eth_subscribe', ['newHeads'])
      await ask('evm_mine')
      expect(await again.notifications(other, 1)).toHaveLength(1)
      again.socket.close()
    } finally {
      await own.stop()
      await heads.stop()
    }
  })

  it('logs sends those that a filter matches, and marks those of a reorganisation as removed', async () => {
    await ask('anvil_setCode', [TARGET, EMITTER])
    const client = await connect(gateway.url)
    const topic = `0x${'2a'.padStart(64, '0')}`
    const { result: mine } = await client.call('eth_subscribe', [
      'logs',
      { address: TARGET, topics: [topic], fromBlock: '0x0' },
    ])
    const { result: others } = await client.call('eth_subscribe', ['logs', { topics: [`0x${'00'.repeat(32)}`] }])
    const { result: later } = await client.call('eth_subscribe', ['logs', { fromBlock: '0xffffff', toBlock: 'latest' }])
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
    for (const none of [others, later])
      expect(client.messages.filter(({ params }) => params?.subscription === none)).toEqual([])
    client.socket.close()
  })

  it('resumes after the last head or log that a client names, without a gap', async () => {
    await ask('anvil_setCode', [TARGET, EMITTER])
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    const emit = () => wallet.sendTransaction({ to: TARGET, gas: 100_000n })
    const stays = await connect(gateway.url)
    const { result: heads } = await stays.call('eth_subscribe', ['newHeads'])
    const { result: logs } = await stays.call('eth_subscribe', ['logs', { address: TARGET }])
    await emit()
    await emit()
    await stays.notifications(logs, 2)
    await ask('anvil_reorg', [1, []])
    await emit()
    const log = await stays.notifications(logs, 4)
    expect(log.map(({ removed }) => removed)).toEqual([false, false, true, false])
    const head = await stays.notifications(heads, 4)

    for (const last of [0, 1, 2, 3]) {
      const client = await connect(gateway.url)
      const resumedHeads = (await client.call('eth_subscribe', ['newHeads', { resume: head[last] }])).result
      const resumedLogs = (await client.call('eth_subscribe', ['logs', { address: TARGET }, { resume: log[last] }]))
        .result
      await ask('evm_mine')
      const { hash } = await ask('eth_getBlockByNumber', ['latest', false])
      for (let count = 1; ; count++) {
        const seen = await stays.notifications(heads, count)
        if (seen.some((one) => one.hash === hash)) break
      }
      const all = await stays.notifications(heads, 4)
      expect(await client.notifications(resumedHeads, all.length - last - 1)).toEqual(all.slice(last + 1))
      expect(await client.notifications(resumedLogs, 3 - last)).toEqual(log.slice(last + 1))
      client.socket.close()
    }

    // A gateway that never followed those blocks reads them from the node, and rejects a resume from a branch that is gone.
    const other = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl })
    const client = await connect(other.url)
    const resumed = (await client.call('eth_subscribe', ['logs', { address: TARGET }, { resume: log[0] }])).result
    expect(await client.notifications(resumed, 1)).toEqual([log[3]])
    expect(await client.call('eth_subscribe', ['logs', {}, { resume: log[1] }])).toMatchObject({
      error: { code: -32001, message: expect.stringContaining('is not on a branch that this server knows') },
    })
    expect(await client.call('eth_subscribe', ['newPendingTransactions'])).toMatchObject({
      error: { code: -32601, message: expect.stringContaining('no "newPendingTransactions" subscription') },
    })
    await ask('anvil_mine', ['0x80'])
    const { hash: blockHash } = await ask('eth_getBlockByNumber', ['0x0', false])
    expect(
      await client.call('eth_subscribe', ['logs', {}, { resume: { blockNumber: '0x0', blockHash } }]),
    ).toMatchObject({
      error: { code: -32001, message: expect.stringContaining('is older than the oldest block kept') },
    })
    client.socket.close()
    stays.socket.close()
    await other.stop()
  })

  it("newPendingTransactions forwards the node's pending transactions", async () => {
    const client = await connect(gateway.url)
    const { result: hashes } = await client.call('eth_subscribe', ['newPendingTransactions'])
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    const hash = await wallet.sendTransaction({ to: TARGET, gas: 100_000n })
    expect(await client.notifications(hashes, 1)).toEqual([hash])
    client.socket.close()
  })

  it('simulation sends an outcome when it changes, and nothing while it stays the same', async () => {
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

  it('simulation sends a verdict when a new head changes it, and nothing while it stays the same', async () => {
    const someone = '0x00000000000000000000000000000000000d0b0e'
    const client = await connect(gateway.url)
    // Pays nothing while the account is empty, otherwise an amount that depends on the time.
    const code = assemble(
      `${BigInt(someone)} BALANCE ISZERO >pay JUMPI TIMESTAMP ISZERO >pay JUMPI 0 0 0 0 TIMESTAMP ${BigInt(someone)} GAS CALL POP STOP @pay STOP`,
    )
    const [{ blockStateCalls }] = callOf(code, { from: DEVNET_ROLES.deployer.address, value: '0x100000000' }) as [
      { blockStateCalls: object[] },
    ]
    const payload = { blockStateCalls, depends: true, outcome: true }
    const { result: id } = await client.call('upfront_subscribe', ['simulation', payload, 'latest'])
    const verdictOf = (told: unknown) =>
      (told as { result: { calls: { outcome: { verdict: string } }[] }[] }).result[0]!.calls[0]!.outcome.verdict
    expect((await client.notifications(id, 1)).map(verdictOf)).toEqual(['holds'])
    const { result: heads } = await client.call('eth_subscribe', ['newHeads'])
    for (let count = 0; count < 3; count++) await ask('evm_mine')
    await client.notifications(heads, 3)
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    await wallet.sendTransaction({ to: someone, value: 1n })
    expect((await client.notifications(id, 2)).map(verdictOf)).toEqual(['holds', 'changes'])
    client.socket.close()
  })

  it('serves the filtered logs and pending transactions that viem and ethers subscribe to', async () => {
    const event = parseAbiItem('event Ping(uint256 indexed size)')
    const pinger = '0x0000000000000000000000000000000000000b1e'
    await ask('anvil_setCode', [pinger, assemble(`CALLDATASIZE ${BigInt(toEventSelector(event))} 0 0 LOG2 STOP`)])
    const url = `${gateway.url.replace('http', 'ws')}/ethereum`
    const viem = createPublicClient({ chain: foundry, transport: webSocket(url) })
    const ethers = new WebSocketProvider(url)
    // ethers can't take an event before it knows the network.
    await ethers.getNetwork()
    const heard = { viem: new Set<string>(), ethers: new Set<string>() }
    const waiting = { viem: new Set<string>(), ethers: new Set<string>() }
    const sizes = new Set<bigint | undefined>()
    viem.watchEvent({
      address: pinger,
      event,
      args: { size: 2n },
      onLogs: (logs) => {
        for (const { transactionHash, args } of logs) {
          heard.viem.add(transactionHash)
          sizes.add(args.size)
        }
      },
    })
    viem.watchPendingTransactions({
      onTransactions: (hashes) => {
        for (const hash of hashes) waiting.viem.add(hash)
      },
    })
    const topics = [toEventSelector(event), `0x${'2'.padStart(64, '0')}`]
    await ethers.on({ address: pinger, topics }, (log: { transactionHash: string; topics: string[] }) => {
      heard.ethers.add(log.transactionHash)
      sizes.add(BigInt(log.topics[1] as string))
    })
    await ethers.on('pending', (hash: string) => waiting.ethers.add(hash))
    const wallet = createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
    // Both subscribe in their own time and miss earlier events.
    const all = [heard.viem, heard.ethers, waiting.viem, waiting.ethers]
    for (const sent: string[] = []; !sent.some((hash) => all.every((known) => known.has(hash))); ) {
      await wallet.sendTransaction({ to: pinger, data: '0x01', gas: 100_000n })
      sent.push(await wallet.sendTransaction({ to: pinger, data: '0x0102', gas: 100_000n }))
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect([...sizes]).toEqual([2n])
    ;(await viem.transport.getRpcClient()).close()
    await ethers.destroy()
  })

  it('serves viem and ethers, which detect subscriptions themselves', async () => {
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
    const [simulated] = await viem.simulateBlocks({ blocks: [{ calls: [{ to: TARGET }] }] })
    expect(simulated?.calls[0]?.status).toBe('success')
    const provider = new WebSocketProvider(`${gateway.url.replace('http', 'ws')}/ethereum`)
    const payload = { blockStateCalls: [{ calls: [{ to: TARGET }] }] }
    expect((await provider.send('eth_simulateV1', [payload, 'latest']))[0].calls[0].status).toBe('0x1')
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
    [['foo'], -32601, 'no "foo" subscription in eth namespace: there are newHeads, logs'],
    [[7], -32602, 'params[0]: expected the name of a subscription'],
    [['newHeads', { resume: { number: '0x1' } }], -32602, 'params[1].resume.hash: expected 32 bytes in hex'],
    [['newHeads', { from: '0x1' }], -32602, 'params[1]: expected no field other than `resume`, got "from"'],
    [['logs', {}, { resume: 1 }], -32602, 'params[2].resume: expected the last notification received'],
    [
      ['newHeads', { resume: { number: '0x0', hash: `0x${'12'.repeat(32)}` } }],
      -32001,
      'resume: block 0 (0x1212121212121212121212121212121212121212121212121212121212121212) is',
    ],
    [['newPendingTransactions', 'full'], -32602, 'params[1]: expected true for whole transactions, or false'],
    [['logs', { address: '0x12' }], -32602, 'params[1].address'],
    [
      ['logs', { blockHash: `0x${'12'.repeat(32)}` }],
      -32602,
      'params[1].blockHash: a subscription reports new blocks only',
    ],
    [['logs', { fromBlock: 'pending' }], -32602, 'params[1].fromBlock: expected a number'],
    [['logs', { fromBlock: '0x2', toBlock: '0x1' }], -32602, 'params[1].toBlock: is before'],
  ])('rejects eth_subscribe %j', async (params, code, message) => {
    const client = await connect(gateway.url)
    expect(await client.call('eth_subscribe', params)).toMatchObject({
      error: { code, message: expect.stringContaining(message) },
    })
    client.socket.close()
  })

  it('answers eth_subscribe over HTTP with a pointer to WebSocket', async () => {
    expect((await gateway.call('eth_subscribe', ['newHeads'])).error).toMatchObject({
      code: -32601,
      message: 'notifications not supported: subscribe over WebSocket',
    })
  })

  it.each([
    ['https://evil.example', 403],
    ['https://wallet.example', 101],
  ])('answers an upgrade from the origin %s with %i', async (origin, status) => {
    const socket = new WebSocket(gateway.url.replace('http', 'ws'), { origin })
    const answered = new Promise((resolve) => {
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_, response) => resolve(response.statusCode))
    })
    socket.on('error', () => undefined)
    expect(await answered).toBe(status)
    socket.close()
  })

  it('closes connections with 1001 when the gateway stops', async () => {
    const { socket } = await connect(gateway.url)
    const closed = once(socket, 'close')
    await gateway.stop()
    expect((await closed)[0]).toBe(1001)
  })
})
