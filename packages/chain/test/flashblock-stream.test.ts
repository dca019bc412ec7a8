import { type StreamServer, startStreamServer } from '@upfront/devnet'
import type { Relay, RelayListener } from '../src/follow/relay.js'
import { FlashblockStream } from '../src/preconfirmed/flashblock-stream.js'
import { flashblockMessage } from './flashblock-message.js'

const SILENCE_MS = 300
const message = (index: number) => JSON.stringify(flashblockMessage({ number: 5, index }))

describe('FlashblockStream', () => {
  let servers: StreamServer[]
  let stream: FlashblockStream
  let seen: string[]
  beforeEach(async () => {
    servers = [
      await startStreamServer({ port: 0, encoding: 'json' }),
      await startStreamServer({ port: 0, encoding: 'brotli' }),
    ]
    seen = []
  })
  afterEach(async () => {
    stream.close()
    await Promise.all(servers.map((server) => server.stop()))
  })

  function follow(urls: string[], { relay, silenceMs = SILENCE_MS }: { relay?: Relay; silenceMs?: number } = {}) {
    const name = (url: string) => urls.indexOf(url)
    stream = new FlashblockStream({
      urls,
      relay,
      silenceMs,
      maxMessageBytes: 1 << 20,
      onFlashblock: (flashblock) => seen.push(`flashblock ${flashblock.index}`),
      onUndecodable: (reason) => seen.push(`undecodable: ${reason}`),
      onConnected: (url) => seen.push(`connected ${name(url)}`),
      onLost: (url, reason) => seen.push(`lost ${name(url)}: ${reason}`),
    })
  }
  async function sees(text: string) {
    while (!seen.some((line) => line.includes(text))) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  it('decodes frames in order and skips malformed ones', async () => {
    follow([servers[0]!.url], { silenceMs: 60_000 })
    await sees('connected')
    servers[0]!.send(message(0))
    servers[0]!.sendFrame('{"half')
    servers[0]!.sendFrame(new Uint8Array([1, 2, 3]))
    servers[0]!.send(message(1))
    await sees('flashblock 1')
    expect(seen.slice(1)).toEqual([
      'flashblock 0',
      'undecodable: not JSON',
      'undecodable: neither JSON nor brotli',
      'flashblock 1',
    ])
  })

  it('connects to the next URL if the connection is lost', async () => {
    follow(
      servers.map((server) => server.url),
      { silenceMs: 60_000 },
    )
    await sees('connected 0')
    servers[0]!.disconnect()
    await sees('connected 1')
    servers[1]!.send(message(4))
    await sees('flashblock 4')
  })

  it('closes a connection without flashblocks, even if it answers pings', async () => {
    follow(servers.map((server) => server.url))
    await sees('connected 0')
    await sees(`lost 0: no flashblock for ${SILENCE_MS} ms`)
    await sees('connected 1')
  })

  it('closes a connection that sends anything but flashblocks, and tries the next URL', async () => {
    follow(servers.map((server) => server.url))
    await sees('connected 0')
    const sending = setInterval(() => servers[0]!.sendFrame('{"error":"no such stream"}'), SILENCE_MS / 10)
    try {
      await sees('connected 1')
    } finally {
      clearInterval(sending)
    }
    expect(seen).toContain(`lost 0: no flashblock for ${SILENCE_MS} ms`)
  }, 5_000)

  it('tries the next URL if nothing listens at the first', async () => {
    const { url } = servers[0]!
    await servers[0]!.stop()
    follow([url, servers[1]!.url])
    await sees('lost 0: ECONNREFUSED')
    await sees('connected 1')
  })

  it('publishes received frames unchanged if it leads', async () => {
    const published: string[] = []
    const member = { leads: true, follows: false, publish: (frame: Buffer | string) => published.push(String(frame)) }
    follow([servers[0]!.url], { relay: { join: () => ({ ...member, leave: () => undefined }) } })
    await sees('connected 0')
    servers[0]!.send(message(0))
    await sees('flashblock 0')
    expect(published).toEqual([message(0)])
  })

  it('takes frames from the leading replica, and connects itself only if none arrive', async () => {
    let listener: RelayListener | undefined
    const member = { leads: false, follows: true, publish: () => undefined, leave: () => undefined }
    const join = (to: RelayListener) => {
      listener = to
      return member
    }
    follow([servers[0]!.url], { relay: { join } })
    listener?.onMessage(Buffer.from(message(0)))
    await sees('flashblock 0')
    expect(seen).toEqual(['flashblock 0'])
    // No frame has come within the silence limit.
    await sees('connected 0')
    servers[0]!.send(message(1))
    await sees('flashblock 1')
    listener?.onMessage(Buffer.from(message(2)))
    await sees('flashblock 2')
    servers[0]!.send(message(3))
    Object.assign(member, { leads: true, follows: false })
    listener?.onChange()
    while (seen.filter((line) => line === 'connected 0').length < 2)
      await new Promise((resolve) => setTimeout(resolve, 5))
    servers[0]!.send(message(4))
    await sees('flashblock 4')
  })

  it('decodes long frames that arrive together in turns of the event loop, so that requests are served in between', async () => {
    let listener: RelayListener | undefined
    const member = { leads: false, follows: true, publish: () => undefined, leave: () => undefined }
    const join = (to: RelayListener) => {
      listener = to
      return member
    }
    follow([servers[0]!.url], { relay: { join }, silenceMs: 60_000 })
    let turns = 0
    const count = () => {
      turns += 1
      if (seen.length < 5) setImmediate(count)
    }
    const transactions = Array(10_000).fill(`0x${'02'.repeat(40)}`)
    const frames = [0, 1, 2, 3, 4].map((index) =>
      Buffer.from(JSON.stringify(flashblockMessage({ number: 5, index, transactions }))),
    )
    setImmediate(count)
    for (const frame of frames) listener?.onMessage(frame)
    await sees('flashblock 4')
    expect(turns).toBeGreaterThan(2)
  })

  it('rejects a frame over the size limit before reading it', async () => {
    follow([servers[0]!.url], { silenceMs: 60_000 })
    await sees('connected 0')
    servers[0]!.sendFrame(' '.repeat((1 << 20) + 1))
    await sees('lost 0: WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
  })
})
