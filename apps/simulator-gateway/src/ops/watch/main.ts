import { type Flashblock, FlashblockStream, type RecentHead } from '@upfront/chain'
import { answerStateFromHeader } from '../../pending/answer-state.js'
import { StreamPrinter } from './stream-printer.js'

/** Each poll is two calls: well below the free limit of 50 a second. */
const POLL_MS = 60
/** Health is polled once in this many polls: the gateway refreshes it at most once a second. */
const HEALTH_EVERY = 8

const HELP = `npm run watch shows the block under construction, flashblock by flashblock, until Ctrl-C.

  GATEWAY_URL              http://127.0.0.1:8080; else GATEWAY_HOST and GATEWAY_PORT
  FLASHBLOCKS_WS_URL       ws://127.0.0.1:8546; several are tried in turn, separated by commas
  DEVNET_FLASHBLOCKS_PORT  8546, of the local stand's stream`

if (process.argv.includes('--help')) {
  process.stdout.write(`${HELP}\n`)
  process.exit(0)
}
const { env } = process
const urls = (env.FLASHBLOCKS_WS_URL || `ws://127.0.0.1:${env.DEVNET_FLASHBLOCKS_PORT || 8546}`).split(',')
const gateway = env.GATEWAY_URL || `http://${reachable(env.GATEWAY_HOST)}:${env.GATEWAY_PORT || 8080}`
// Exits when the reader of this output is gone.
process.stdout.on('error', () => process.exit(0))
const printer = new StreamPrinter((line) => process.stdout.write(`${line}\n`))

printer.say(`watching ${urls.map((url) => new URL(url).host).join(', ')} and the gateway at ${gateway}; Ctrl-C ends`)
const stream = new FlashblockStream({
  urls,
  silenceMs: 5_000,
  maxMessageBytes: 16 * 2 ** 20,
  onFlashblock: (flashblock: Flashblock) => printer.flashblock(flashblock),
  onUndecodable: (reason) => printer.say(`stream: a message that is no flashblock: ${reason}`),
  onConnected: (url) => printer.say(`stream: connected to ${new URL(url).host}`),
  onLost: (url, reason, retryInMs) =>
    printer.say(`stream: lost ${new URL(url).host} (${reason}), again in ${retryInMs} ms`),
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stream.close()
    process.exit(0)
  })
}

for (let look = 0; ; look++) {
  await lookAtGateway()
  if (look % HEALTH_EVERY === 0) await lookAtHealth()
  await new Promise((resolve) => setTimeout(resolve, POLL_MS))
}

async function lookAtGateway(): Promise<void> {
  try {
    const response = await fetch(gateway, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
        { jsonrpc: '2.0', id: 2, method: 'eth_getBlockByNumber', params: ['pending', false] },
      ]),
      signal: AbortSignal.timeout(5_000),
    })
    const answer = (await response.json()) as { result?: `0x${string}` }[]
    const header = response.headers.get('upfront-state')
    const head = response.ok && Array.isArray(answer) ? answer[0]?.result : undefined
    if (!head) return printer.gatewayProblem(`answers HTTP ${response.status}`)
    printer.head(BigInt(head))
    if (header) printer.gateway(answerStateFromHeader(header))
    else printer.gatewayProblem('follows no stream: FLASHBLOCKS_WS_URL is not set there')
  } catch (error) {
    const cause =
      error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error)
    printer.gatewayProblem(cause)
  }
}

async function lookAtHealth(): Promise<void> {
  try {
    const response = await fetch(`${gateway}/health/ready`, { signal: AbortSignal.timeout(5_000) })
    const { following } = (await response.json()) as { following?: { recent: RecentHead[] } }
    if (following) printer.followed(following.recent)
  } catch {
    // `lookAtGateway` reports what is wrong.
  }
}

/** An address at which a server listening on `host` can be reached from this machine. */
function reachable(host: string | undefined): string {
  return !host || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}
