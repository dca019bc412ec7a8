import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Devnet, startDevnet } from '@upfront/devnet'
import { runBilling } from './support/billing.js'
import { sign } from './support/buyer.js'
import type { RunningBilling } from './support/stand.js'
import { stores } from './support/stores.js'
import { until } from './support/until.js'

const postgres = stores().find(({ name }) => name === 'Postgres')
const missing = postgres?.missing ?? null

/** Relays to a port. Connections can fall silent for good, as when a host or a network is lost: they are neither answered nor closed. */
async function startRelay(port: number) {
  const sockets = new Set<Socket>()
  let isSilent = false
  let lastWord: { text: string; said(): void } | null = null
  const silence = (pair: Iterable<Socket>) => {
    for (const socket of pair) socket.pause().removeAllListeners('end')
  }
  const server = createServer((near) => {
    const pair = [near, connect(port, '127.0.0.1')] as const
    const [, far] = pair
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    let hasSpoken = false
    far.on('data', (bytes) => {
      if (!hasSpoken) return void near.write(bytes)
      silence(pair)
      lastWord?.said()
      lastWord = null
    })
    near.on('data', (bytes) => {
      far.write(bytes)
      hasSpoken ||= lastWord !== null && bytes.includes(lastWord.text)
    })
    far.on('end', () => near.end())
    near.on('end', () => far.end())
    if (isSilent) silence(pair)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    /** All connections, and new ones until `recover`. */
    fallSilent() {
      isSilent = true
      silence(sockets)
    },
    /** The connection that sends this text, which still arrives. Resolves when Postgres has answered. */
    fallSilentAfter(text: string) {
      return new Promise<void>((said) => {
        lastWord = { text, said }
      })
    },
    /** New connections are relayed again; the silent ones stay silent. */
    recover() {
      isSilent = false
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

describe('Postgres that falls silent', () => {
  const test = missing === null ? it : it.skip
  let devnet: Devnet
  let relay: Awaited<ReturnType<typeof startRelay>>
  let variables: Record<string, string>
  let billing: RunningBilling

  beforeAll(async () => {
    if (missing !== null) return console.warn(`skipped: ${missing}`)
    await postgres?.start()
    devnet = await startDevnet()
    variables = (await postgres?.variables()) ?? {}
    const url = new URL(variables.DATABASE_URL ?? '')
    relay = await startRelay(Number(url.port))
    const relayed = Object.assign(url, { port: String(relay.port) }).href
    billing = await runBilling(devnet.rpcUrl, { DATABASE_URL: relayed, recoveryMs: '200' })
  })
  afterAll(async () => {
    relay?.stop()
    await billing?.close()
    await devnet?.stop()
    await postgres?.stop()
  })

  test('makes /health and payments answer 503, and settles once on new connections', async () => {
    const { id } = await billing.authorizeNew()
    const paymentPayload = await sign()
    const { accepted: paymentRequirements } = paymentPayload
    const settlement = { body: { x402Version: 2, paymentPayload, paymentRequirements } }
    const charge = { body: { amount: '5' }, key: 'while-silent' }
    const ask = () =>
      Promise.all([billing.send(`/internal/payments/${id}/charge`, charge), billing.send('/settle', settlement)])
    relay.fallSilent()
    expect((await billing.send('/health')).body).toMatchObject({ ready: false, ledger: { status: 'unreachable' } })
    expect((await ask()).map(({ status }) => status)).toEqual([503, 503])
    relay.recover()
    const [charged, settled] = await until(ask, (answers) => answers.every(({ status }) => status !== 503))
    expect(charged.body).toMatchObject({ payment: { state: 'settled', charge: '5' } })
    expect(settled.body).toMatchObject({ success: true })
    await until(
      () => billing.send('/health'),
      ({ status }) => status === 200,
    )
    expect((await billing.send('/reconciliation')).body).toMatchObject({ settledPayments: 2, differences: [] })
  }, 240_000)

  test('does not keep the locks of a process that it has lost', async () => {
    const other = await runBilling(devnet.rpcUrl, variables)
    try {
      const payload = await sign()
      // Of its settlement, only the reserving statement contains the signature.
      const reserved = relay.fallSilentAfter(payload.payload.signature as string)
      const lost = billing.settle(payload, '7')
      await reserved
      // The same payer: the lost process has its lock.
      const { id } = await until(() => other.authorizeNew())
      expect(await other.charge(id, '3')).toMatchObject({ payment: { state: 'settled' } })
      expect((await lost).status).toBe(503)
    } finally {
      await other.close()
    }
  }, 240_000)
})
