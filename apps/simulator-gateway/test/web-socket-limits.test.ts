import { once } from 'node:events'
import { type Anvil, startAnvil } from '@upfront/devnet'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway, startGatewayProcess, type Variables } from './gateway-process.js'
import { TARGET } from './simulate-params.js'
import { connect } from './web-socket-client.js'

describe('limits of a WebSocket client', () => {
  let anvil: Anvil
  let gateway: GatewayProcess
  let environment: Variables
  const ask = (method: string, params: unknown[] = []) =>
    fetch(anvil.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }).then((response) => response.text())
  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0'])
    environment = { UPSTREAM_RPC_URL: anvil.rpcUrl, UPSTREAM_WS_URL: anvil.rpcUrl.replace('http', 'ws') }
    gateway = await startGateway(environment)
  })
  afterAll(async () => {
    await gateway?.stop()
    await anvil?.stop()
  })

  it('closes the connection of a client that does not read, and no other', async () => {
    const idle = await connect(gateway.url)
    const { result: id } = await idle.call('eth_subscribe', ['newHeads'])
    const deaf = await connect(gateway.url)
    for (let count = 0; count < 64; count++) await deaf.call('eth_subscribe', ['newHeads'])
    expect(await deaf.call('eth_subscribe', ['newHeads'])).toMatchObject({ error: { code: -32005 } })
    deaf.socket.pause()
    let mined = 0
    while ((await gateway.metric('upfront_subscriptions')) > 1) {
      await ask('anvil_mine', ['0x20'])
      mined += 32
      await idle.notifications(id, mined)
    }
    deaf.socket.resume()
    const [code, reason] = await once(deaf.socket, 'close')
    expect([code, String(reason)]).toEqual([1013, 'the client does not read its notifications'])
    await ask('anvil_mine', ['0x1'])
    await idle.notifications(id, mined + 1)
    idle.socket.close()
  })

  it('serves no further message of a client that does not read its answers, but those of others', async () => {
    const deaf = await connect(gateway.url)
    const calls = async () => {
      const text = await (await fetch(`${gateway.url}/metrics`)).text()
      return Number(/upfront_rpc_calls_total\{method="rpc.discover",outcome="ok"\} (\d+)/.exec(text)?.[1] ?? 0)
    }
    const before = await gateway.metric('upfront_held_bytes')
    deaf.socket.pause()
    const asked = 2_000
    for (let id = 1; id <= asked; id++)
      deaf.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'rpc.discover', params: [] }))
    let last = -1
    for (let now = await calls(); now !== last; now = await calls()) {
      last = now
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(last).toBeLessThan(asked)
    expect(await gateway.metric('upfront_held_bytes')).toBeLessThan(before + 1_000_000)
    const other = await connect(gateway.url)
    expect(await other.call('net_listening')).toMatchObject({ result: true })
    other.socket.close()
    deaf.socket.resume()
    while (deaf.messages.length < asked) await once(deaf.socket, 'message')
    expect(deaf.messages.map(({ id }) => id)).toEqual(Array.from({ length: asked }, (_, index) => index + 1))
    deaf.socket.close()
  })

  it('closes the connection of a client that does not read an answer in time', async () => {
    const hasty = await startGatewayProcess(environment, { answerMs: 300 })
    try {
      const deaf = await connect(hasty.url)
      const closed = once(deaf.socket, 'close')
      const code = assemble('0x100000 0 RETURN')
      const calls = Array(10).fill({ to: TARGET })
      const request = { blockStateCalls: [{ stateOverrides: { [TARGET]: { code } }, calls }] }
      deaf.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [request, 'latest'] }))
      deaf.socket.pause()
      while ((await hasty.metric('upfront_websockets')) > 0) await new Promise((resolve) => setTimeout(resolve, 50))
      expect(await hasty.metric('upfront_held_bytes')).toBeLessThan(1_000_000)
      deaf.socket.resume()
      expect((await closed)[0]).toBe(1006)
    } finally {
      await hasty.stop()
    }
  })

  it('sends a long answer in slices of one message', async () => {
    const client = await connect(gateway.url)
    const code = assemble('0x100000 0 RETURN')
    const request = { blockStateCalls: [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET }] }] }
    const { result } = await client.call('eth_simulateV1', [request, 'latest'])
    const [block] = result as { calls: { returnData: string }[] }[]
    expect(block?.calls[0]?.returnData).toHaveLength(2 + 2 * 0x100000)
    client.socket.close()
  })

  it('accepts a message in 64 fragments and closes the connection at one more', async () => {
    const client = await connect(gateway.url)
    const text = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'net_listening', params: [] })
    const cut = (pieces: number) =>
      Array.from({ length: pieces }, (_, at) => text.slice(at, at === pieces - 1 ? undefined : at + 1))
    const answered = once(client.socket, 'message')
    for (const [at, piece] of cut(64).entries()) client.socket.send(piece, { fin: at === 63 })
    expect(JSON.parse(String((await answered)[0]))).toMatchObject({ id: 7, result: true })
    const closed = once(client.socket, 'close')
    for (const piece of cut(66)) client.socket.send(piece, { fin: false })
    expect((await closed)[0]).toBe(1008)
  })

  it('counts a message as memory from its first byte until it ends', async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => connect(gateway.url)))
    const before = await gateway.metric('upfront_held_bytes')
    // Frames that never end a message.
    for (const { socket } of opened) socket.send('x'.repeat(1_000_000), { fin: false })
    while ((await gateway.metric('upfront_held_bytes')) < before + 8_000_000)
      await new Promise((resolve) => setTimeout(resolve, 20))
    for (const { socket } of opened) socket.terminate()
    while ((await gateway.metric('upfront_held_bytes')) > before)
      await new Promise((resolve) => setTimeout(resolve, 20))
  })

  it('allows a client 1,024 subscriptions over all its connections', async () => {
    const opened = await Promise.all(Array.from({ length: 17 }, () => connect(gateway.url)))
    const last = opened.pop()!
    await Promise.all(
      opened.map(async (client) => {
        for (let count = 0; count < 64; count++)
          expect(await client.call('eth_subscribe', ['newHeads'])).toMatchObject({ result: expect.any(String) })
      }),
    )
    expect(await last.call('eth_subscribe', ['newHeads'])).toMatchObject({
      error: { code: -32005, message: 'a client may have at most 1024 subscriptions' },
    })
    const first = opened[0]!
    const heard = once(first.socket, 'message')
    await ask('evm_mine')
    await heard
    first.socket.close()
    while ((await gateway.metric('upfront_subscriptions')) > 960)
      await new Promise((resolve) => setTimeout(resolve, 20))
    expect(await last.call('eth_subscribe', ['newHeads'])).toMatchObject({ result: expect.any(String) })
    for (const { socket } of [...opened, last]) socket.close()
  })

  it('ends a watched simulation with an answer of more than 1 MiB', async () => {
    const client = await connect(gateway.url)
    const code = assemble('0x100000 0 RETURN')
    const request = { blockStateCalls: [{ stateOverrides: { [TARGET]: { code } }, calls: [{ to: TARGET }] }] }
    const { result: id } = await client.call('upfront_subscribe', ['simulation', request, 'latest'])
    expect(await client.notifications(id, 1)).toEqual([
      { error: { code: -32005, message: expect.stringContaining('1048576 bytes') } },
    ])
    client.socket.close()
  })

  it('closes the connection of a client whose notifications use up its budget', async () => {
    const poor = await startGateway({
      ...environment,
      LIMITS: { callsPerSecond: 100, bytesPerMinute: 20_000 },
    })
    try {
      const client = await connect(poor.url)
      for (let count = 0; count < 8; count++) await client.call('eth_subscribe', ['newHeads'])
      const closed = once(client.socket, 'close')
      let isOpen = true
      void closed.then(() => {
        isOpen = false
      })
      while (isOpen) {
        await ask('evm_mine')
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect((await closed).map(String)).toEqual(['1013', 'the free budget of this minute is used up'])
    } finally {
      await poor.stop()
    }
  })

  it('closes the connection with 1009 if a message is too long and 1003 if it is binary', async () => {
    for (const [message, code] of [
      ['x'.repeat(1_100_000), 1009],
      [Buffer.from('{}'), 1003],
    ] as const) {
      const { socket } = await connect(gateway.url)
      socket.send(message)
      expect((await once(socket, 'close'))[0]).toBe(code)
    }
  })
})
