import { DEVNET_ACCOUNTS, STREAM_FAULTS } from '@upfront/devnet'
import type { Browser } from 'playwright-core'
import type { Hex } from 'viem'
import { axeViolations, inBrowser, launchBrowser } from './chromium.js'
import { type PreconfirmedStand, send, startStand, until } from './preconfirmed-stand.js'
import { connect } from './web-socket-client.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]
/** Deploys LOG1 with the topic 0x2a. */
const DEPLOYMENT = '0x66602a60006000a160005260076019f3'
const TOPIC = `0x${'2a'.padStart(64, '0')}`

/** Faults that end the connection: others injected during them would wait. */
const OUTAGES: ReadonlySet<string> = new Set(['disconnect', 'half-open', 'silent'])

describe('subscriptions to blocks under construction', () => {
  let stand: PreconfirmedStand
  let emitter: Hex
  let browser: Browser | undefined
  beforeAll(async () => {
    stand = await startStand({ blockTimeSeconds: 1 }, { CARRY_STATE: 'on' })
    const hash = await send(stand, ALICE.privateKey, { data: DEPLOYMENT, gas: 100_000n } as never)
    const { contractAddress } = await stand.node.waitForTransactionReceipt({ hash })
    emitter = contractAddress as Hex
  })
  afterAll(async () => {
    await browser?.close()
    await stand?.stop()
  })

  /** How often the gateway reports that it lost the stream. */
  const timesLost = async () => {
    const { preconfirmed } = (await (await fetch(`${stand.gateway.url}/health/ready`)).json()) as {
      preconfirmed: { faults: { kind: string }[] }
    }
    return preconfirmed.faults.filter(({ kind }) => kind === 'lost').length
  }

  const connected = async () => {
    const client = await connect(stand.gateway.url)
    const subscribed = async (...params: unknown[]) => (await client.call('eth_subscribe', params)).result
    return { ...client, subscribed }
  }

  it('newFlashblocks sends each flashblock as executed, once and in order', async () => {
    const { notifications, subscribed, socket } = await connected()
    const shown = await notifications(await subscribed('newFlashblocks'), 12)
    const places = shown.map(({ number, payloadId, flashblock }) => `${number} ${payloadId} ${flashblock}`)
    expect(new Set(places).size).toBe(places.length)
    for (const [at, { number, flashblock }] of shown.entries()) {
      const before = shown[at - 1]
      if (before === undefined) continue
      if (before.number === number) expect(Number(flashblock)).toBeGreaterThan(Number(before.flashblock))
      else expect(Number(number)).toBe(Number(before.number) + 1)
    }
    socket.close()
  })

  it('pendingLogs sends a log before its block is sealed, and confirms it afterwards', async () => {
    const { notifications, subscribed, socket } = await connected()
    const id = await subscribed('pendingLogs', { address: emitter, topics: [TOPIC] })
    const hash = await send(stand, ALICE.privateKey, { to: emitter, gas: 100_000n })
    const [pending, sealed] = await notifications(id, 2)
    const { blockHash, logIndex } = await stand.node.waitForTransactionReceipt({ hash }).then(({ logs }) => logs[0]!)
    expect(pending).toMatchObject({ transactionHash: hash, topics: [TOPIC], flashblock: expect.any(Number) })
    expect(pending).not.toHaveProperty('confirmed')
    expect(sealed).toMatchObject({ transactionHash: hash, blockHash, confirmed: true, removed: false })
    expect(Number(sealed!.logIndex)).toBe(logIndex)
    socket.close()
  })

  it('resumes after the last flashblock or log that a client names', async () => {
    const { notifications, subscribed, socket } = await connected()
    const flashblocks = await subscribed('newFlashblocks')
    const logs = await subscribed('pendingLogs', { address: emitter })
    await send(stand, ALICE.privateKey, { to: emitter, gas: 100_000n })
    const [shown, confirmed] = await notifications(logs, 2)
    const seen = await notifications(flashblocks, 4)

    const back = await connected()
    const resumed = await back.subscribed('newFlashblocks', { resume: seen[1] })
    expect((await back.notifications(resumed, 2)).slice(0, 2)).toEqual(seen.slice(2, 4))
    const settled = await back.subscribed('pendingLogs', { address: emitter }, { resume: shown })
    expect(await back.notifications(settled, 1)).toEqual([confirmed])
    const nothing = await back.subscribed('pendingLogs', { address: emitter }, { resume: confirmed })
    await send(stand, ALICE.privateKey, { to: emitter, gas: 100_000n })
    const [next] = await notifications(logs, 4).then((all) => all.slice(2))
    expect((await back.notifications(nothing, 1))[0]).toEqual(next)
    expect(
      await back.call('eth_subscribe', ['newFlashblocks', { resume: { ...seen[0], payloadId: '0x0000000000000000' } }]),
    ).toMatchObject({ error: { code: -32001, message: expect.stringContaining('was never sent by this server') } })
    socket.close()
    back.socket.close()
  })

  it('settles every log under any fault of the stream, for clients that stay or resume', async () => {
    const stays = await connected()
    const id = await stays.subscribed('pendingLogs', { address: emitter })
    const heads = await stays.subscribed('newHeads')
    const hashes: Hex[] = []
    for (const fault of STREAM_FAULTS) {
      const losses = await timesLost()
      await stand.inject(fault)
      if (OUTAGES.has(fault)) await until(async () => (await timesLost()) > losses)
      const hash = await send(stand, ALICE.privateKey, { to: emitter, gas: 100_000n })
      await stand.node.waitForTransactionReceipt({ hash })
      hashes.push(hash)
    }
    const last = await stand.node.getBlockNumber()
    for (let count = 1; ; count++) {
      const seen = await stays.notifications(heads, count)
      if (seen.some(({ number }) => BigInt(number as Hex) > last)) break
    }
    const logs = stays.messages.flatMap(({ params }) =>
      params !== undefined && params.subscription === id ? [params.result] : [],
    )
    expect(logs.length).toBeGreaterThan(0)
    for (const hash of hashes) {
      const own = logs.filter(({ transactionHash }) => transactionHash === hash)
      // The logs of a lost flashblock were never shown.
      if (own.length === 0) continue
      const shown = own.filter(({ confirmed, removed }) => !confirmed && !removed)
      const settled = own.filter(({ confirmed, removed }) => confirmed || removed)
      expect(settled).toHaveLength(shown.length)
      expect(own.at(-1)).toMatchObject({ confirmed: true })
    }
    // Wherever a client was cut off, it receives the same rest.
    for (const [at, log] of logs.entries()) {
      const back = await connected()
      const again = await back.subscribed('pendingLogs', { address: emitter }, { resume: log })
      const rest = logs.slice(at + 1)
      expect((await back.notifications(again, rest.length)).slice(0, rest.length)).toEqual(rest)
      back.socket.close()
    }
    stays.socket.close()
  }, 120_000)

  inBrowser(
    '/console/live shows flashblocks and heads as they come, and faults of the stream',
    async () => {
      browser = await launchBrowser()
      const page = await browser!.newPage({ viewport: { width: 360, height: 740 }, bypassCSP: true })
      await page.goto(`${stand.gateway.url}/console/`)
      await page.getByRole('link', { name: 'Live' }).press('Enter')
      await page.getByText('Following new blocks and flashblocks').waitFor()
      await page.getByText(/^The head is \d+ ms old, pending is \d+ ms old/).waitFor()
      await page
        .getByRole('row', { name: /^flashblock \d+ \d+ [\d,]+ verified 0x/ })
        .first()
        .waitFor()
      const carried = page.getByRole('row', { name: /^head \d+ [\d,]+ verified, carried 0x/ }).first()
      while (!(await carried.isVisible())) {
        // Nothing is carried before any state is known.
        await stand.ask('eth_simulateV1', [{ blockStateCalls: [{}] }, 'latest'])
        await carried.waitFor({ timeout: 1_000 }).catch(() => undefined)
      }
      const status = page.getByRole('status')
      /** The page may already show faults of other tests. A fault in a block's last flashblock has no effect, so it is repeated. */
      const shows = async (goWrong: () => Promise<unknown>, text: RegExp) => {
        const told = status.getByText(text).first()
        while (!(await told.isVisible())) {
          await goWrong()
          await told.waitFor({ timeout: 4_000 }).catch(() => undefined)
        }
      }
      await shows(() => stand.inject('missing'), /^gap: flashblock \d+ of block \d+ arrived without those before it/)
      await shows(() => stand.inject('wrong-gas'), /^not verified: flashblock \d+ of block \d+ differs from our own/)
      await shows(() => stand.inject('disconnect'), /^lost: the gateway lost its connection to the stream/)
      const reorg = { method: 'anvil_reorg', params: [1, []] } as never
      await shows(() => stand.node.request(reorg), /^reorganisation: (the chain changed|block \d+ does not follow)/)
      expect(await axeViolations(page)).toEqual([])
    },
    120_000,
  )
})
