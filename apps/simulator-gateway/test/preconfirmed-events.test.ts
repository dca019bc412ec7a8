import { DEVNET_ACCOUNTS } from '@upfront/devnet'
import type { Hex } from 'viem'
import { type PreconfirmedStand, send, startStand } from './preconfirmed-stand.js'
import { connect } from './wire-client.js'

const [ALICE] = DEVNET_ACCOUNTS as [(typeof DEVNET_ACCOUNTS)[number]]
/** Deploys LOG1 with the topic 0x2a. */
const DEPLOYMENT = '0x66602a60006000a160005260076019f3'
const TOPIC = `0x${'2a'.padStart(64, '0')}`

describe('events of blocks under construction', () => {
  let stand: PreconfirmedStand
  let emitter: Hex
  beforeAll(async () => {
    stand = await startStand()
    const hash = await send(stand, ALICE.privateKey, { data: DEPLOYMENT, gas: 100_000n } as never)
    const { contractAddress } = await stand.node.waitForTransactionReceipt({ hash })
    emitter = contractAddress as Hex
  })
  afterAll(() => stand?.stop())

  const connected = async () => {
    const client = await connect(stand.gateway.url)
    const subscribed = async (...params: unknown[]) => (await client.call('eth_subscribe', params)).result
    return { ...client, subscribed }
  }

  it('shows each flashblock as it was executed, once, and in order', async () => {
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

  it('sends a log before its block is sealed, and confirms it afterwards', async () => {
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

  it('leaves no log unsettled, whatever the stream does', async () => {
    const { messages, notifications, subscribed, socket } = await connected()
    const id = await subscribed('pendingLogs', { address: emitter })
    const heads = await subscribed('newHeads')
    const hashes: Hex[] = []
    for (const fault of ['duplicate', 'missing', 'second-payload', 'wrong-parent', 'wrong-gas', 'disconnect']) {
      await stand.inject(fault)
      const hash = await send(stand, ALICE.privateKey, { to: emitter, gas: 100_000n })
      await stand.node.waitForTransactionReceipt({ hash })
      hashes.push(hash)
    }
    const last = await stand.node.getBlockNumber()
    for (let count = 1; ; count++) {
      const seen = await notifications(heads, count)
      if (seen.some(({ number }) => BigInt(number as Hex) > last)) break
    }
    const logs = messages.flatMap(({ params }) =>
      params !== undefined && params.subscription === id ? [params.result] : [],
    )
    expect(logs.length).toBeGreaterThan(0)
    for (const hash of hashes) {
      const own = logs.filter(({ transactionHash }) => transactionHash === hash)
      // A flashblock that was lost never showed its logs.
      if (own.length === 0) continue
      const shown = own.filter(({ confirmed, removed }) => !confirmed && !removed)
      const settled = own.filter(({ confirmed, removed }) => confirmed || removed)
      expect(settled).toHaveLength(shown.length)
      expect(own.at(-1)).toMatchObject({ confirmed: true })
    }
    socket.close()
  })
})
