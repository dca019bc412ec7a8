import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'

/** Results of a client that does not take part in the attack. */
export interface BystanderResult {
  /** Milliseconds, for answered requests. */
  latencies: number[]
  /** Responses without a result, by HTTP status and reason. */
  refused: Map<string, number>
}

const EVERY_MS = 100
const PATIENCE_MS = 20_000
const TRANSFER = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_simulateV1',
  params: [{ blockStateCalls: [{ calls: [{ to: `0x${'11'.repeat(20)}` }] }] }, 'latest'],
})

/** Sends a transfer every 100 ms from an address of its own, whether or not the previous one was answered. */
export async function measureBystander(url: string, until: AbortSignal): Promise<BystanderResult> {
  const dispatcher = new Agent({ localAddress: '127.0.0.2', connections: 200 })
  const suffering: BystanderResult = { latencies: [], refused: new Map() }
  const ask = async () => {
    const asked = performance.now()
    const refusal = await refusalBy(url, dispatcher)
    if (refusal === undefined) suffering.latencies.push(performance.now() - asked)
    else suffering.refused.set(refusal, (suffering.refused.get(refusal) ?? 0) + 1)
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

async function refusalBy(url: string, dispatcher: Agent): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json' }
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await request(url, { method: 'POST', headers, body: TRANSFER, dispatcher, signal })
    const text = await response.body.text()
    if (text.includes('"result"')) return undefined
    const [, reason = text.slice(0, 80)] = /"message":"([^"]*)"/.exec(text) ?? []
    return `${response.statusCode} (${reason})`
  } catch (error) {
    return `no answer (${(error as Error).message})`
  }
}
