import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** What became of the requests of a client that has nothing to do with an attack. */
export interface Suffering {
  /** Milliseconds, of those that were answered. */
  latencies: number[]
  /** Answers other than a result, by HTTP status; 0 where there was none. */
  refused: Map<number, number>
}

const EVERY_MS = 100
const PATIENCE_MS = 20_000
const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})

/** One transfer each 100 ms from an address of its own, whether or not the one before is answered. */
export async function standBy(url: string, until: AbortSignal): Promise<Suffering> {
  const dispatcher = new Agent({ localAddress: '127.0.0.2', connections: 200 })
  const suffering: Suffering = { latencies: [], refused: new Map() }
  const ask = async () => {
    const asked = performance.now()
    const status = await answerTo(url, dispatcher)
    if (status === 200) suffering.latencies.push(performance.now() - asked)
    else suffering.refused.set(status, (suffering.refused.get(status) ?? 0) + 1)
  }
  const sent: Promise<void>[] = []
  while (!until.aborted) {
    sent.push(ask())
    await sleep(EVERY_MS)
  }
  await Promise.all(sent)
  await dispatcher.destroy()
  return suffering
}

async function answerTo(url: string, dispatcher: Agent): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await request(url, { method: 'POST', headers, body: TRANSFER, dispatcher, signal })
    const text = await response.body.text()
    return text.includes('"result"') ? 200 : response.statusCode === 200 ? 0 : response.statusCode
  } catch {
    return 0
  }
}
