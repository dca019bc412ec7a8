import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type BuiltGeth, findGeth, startBuiltGeth } from '@upfront/devnet'
import { type GatewayProcess, startGateway } from './gateway-process.js'

// A node that returns blocks with their correct hash and one false field.
const path = findGeth()
const suite = path === undefined ? describe.skip : describe
const title = 'a block header that does not match its hash'
const BLOCK_METHODS = new Set(['eth_getBlockByHash', 'eth_getBlockByNumber'])

interface Message {
  id: number
  method: string
  result?: Record<string, unknown> | null
}

suite(path === undefined ? `${title} (skipped: no geth here, see GETH)` : title, () => {
  let geth: BuiltGeth
  let liar: Server
  let gateway: GatewayProcess
  let falsify: ((block: Record<string, unknown>) => object) | undefined
  let going = true
  let sealing: Promise<void>

  beforeAll(async () => {
    geth = await startBuiltGeth(path as string)
    sealing = (async () => {
      while (going) {
        const due = sleep(300)
        await geth.build({ feeRecipient: '0x00000000000000000000000000000000000000fe', withdrawals: [] })
        await due
      }
    })()
    liar = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const body = Buffer.concat(chunks).toString()
      const headers = { 'content-type': 'application/json' }
      const answered = await fetch(geth.rpcUrl, { method: 'POST', headers, body })
      const asked = [JSON.parse(body)].flat() as Message[]
      const answers = JSON.parse(await answered.text()) as Message | Message[]
      for (const answer of [answers].flat()) {
        const { method } = asked.find(({ id }) => id === answer.id)!
        if (falsify && BLOCK_METHODS.has(method) && answer.result) answer.result = falsify(answer.result) as never
      }
      response.writeHead(200, headers).end(JSON.stringify(answers))
    })
    await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
    gateway = await startGateway({
      UPSTREAM_RPC_URL: `http://127.0.0.1:${(liar.address() as AddressInfo).port}`,
      UPSTREAM_WS_URL: geth.wsUrl,
      FOLLOW_HEAD: 'always',
      LIMITS: { timeoutMs: 700 },
    })
    // Nothing is carried before any state is known.
    while (!((await gateway.metric('upfront_carry_blocks_total{outcome="carried"}')) > 2)) {
      await simulate()
      await sleep(50)
    }
  })
  afterAll(async () => {
    going = false
    await gateway?.stop()
    liar?.close()
    await sealing
    await geth?.stop()
  })

  type Blocks = { parentHash: string; timestamp: string; baseFeePerGas: string }[]
  const simulate = () => gateway.call<Blocks>('eth_simulateV1', [{ blockStateCalls: [{}] }, 'latest'])
  const expectRight = async ({ result }: { result?: Blocks }) => {
    if (result === undefined) return false
    const [{ parentHash, timestamp, baseFeePerGas }] = result as [Blocks[0]]
    const [ours] = await geth.rpc<Blocks>('eth_simulateV1', [{ blockStateCalls: [{}] }, { blockHash: parentHash }])
    expect({ timestamp, baseFeePerGas }).toEqual({ timestamp: ours!.timestamp, baseFeePerGas: ours!.baseFeePerGas })
    return true
  }

  it.each<[string, (block: Record<string, unknown>) => object]>([
    ['timestamp', (block) => ({ ...block, timestamp: `0x${(Number(block.timestamp) + 7).toString(16)}` })],
    ['mixHash', (block) => ({ ...block, mixHash: `0x${'77'.repeat(32)}` })],
  ])('is rejected with -32603: false %s', async (_, wrong) => {
    falsify = wrong
    const refused: unknown[] = []
    // Until the last verified head is too old to be trusted.
    while (refused.length < 3) {
      const answer = await simulate()
      if (!(await expectRight(answer))) refused.push(answer.error)
      await sleep(50)
    }
    for (const error of refused) expect(error).toMatchObject({ code: -32603 })
    falsify = undefined
    while (!(await expectRight(await simulate()))) await sleep(50)
  })
})
