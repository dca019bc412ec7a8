import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Anvil,
  BASE_TIME,
  type DenimBlocks,
  OP_GENESIS_FILE,
  rpc,
  setL1Fees,
  startAnvil,
  startDenimBlocks,
} from '@upfront/devnet'
import { answerStateFromHeader } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'

interface Block {
  number: string
  timestamp: string
  parentHash: string
  calls: { returnData: string }[]
}

describe('a chain with a block every 200 ms', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upfront-denim-'))
  let anvil: Anvil
  let blocks: DenimBlocks
  let gateway: GatewayProcess
  const failures: Error[] = []

  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0', '--network', 'optimism', '--no-mining', '--order', 'fifo'])
    await setL1Fees(anvil.rpcUrl)
    blocks = await startDenimBlocks(anvil.rpcUrl, (error) => failures.push(error))
    const genesis = JSON.parse(readFileSync(OP_GENESIS_FILE, 'utf8'))
    const since = Number(blocks.genesisTime)
    const file = join(folder, 'genesis.json')
    writeFileSync(
      file,
      JSON.stringify({ timestamp: since, config: { ...genesis.config, azulTime: since, denimTime: since } }),
    )
    gateway = await startGateway({
      UPSTREAM_RPC_URL: anvil.rpcUrl,
      UPSTREAM_WS_URL: anvil.wsUrl,
      CHAIN_GENESIS_FILE: file,
      EVM_ENGINE: 'native',
    })
  })
  afterAll(async () => {
    await gateway?.stop()
    await blocks?.stop()
    await anvil?.stop()
    rmSync(folder, { recursive: true, force: true })
    expect(failures).toEqual([])
  })

  const call = { to: BASE_TIME, input: '0x7b2fea99' }

  /** Simulates. @returns the head that the answer used, and the simulated blocks */
  async function simulate(block: string, blockStateCalls: object[]) {
    const params = [{ blockStateCalls }, block]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params })
    const response = await gateway.post(body)
    const { result, error } = (await response.json()) as { result?: Block[]; error?: object }
    expect(error).toBeUndefined()
    const state = answerStateFromHeader(response.headers.get('upfront-state') ?? '')
    if (state.kind !== 'latest') throw new Error('it stands on pre-confirmed state')
    return { head: Number(state.block), blocks: result ?? [] }
  }
  const blockAt = (number: number) =>
    rpc<Block | null>(anvil.rpcUrl, 'eth_getBlockByNumber', [`0x${number.toString(16)}`, false])

  it.each(['latest', 'pending'])('simulates at %s with the timestamps that the next 12 blocks get', async (tag) => {
    const { head, blocks } = await simulate(tag, Array(12).fill({}))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 12 }, (_, next) => head + 1 + next))
    expect(blocks[0]?.parentHash).toBe(
      (await rpc<{ hash: string }>(anvil.rpcUrl, 'eth_getBlockByNumber', [`0x${head.toString(16)}`, false])).hash,
    )
    while (failures.length === 0 && (await blockAt(head + 12)) === null) await sleep(50)
    for (const { number, timestamp } of blocks) expect((await blockAt(Number(number)))?.timestamp).toBe(timestamp)
  })

  it('keeps the milliseconds of the head in simulated blocks, which have no deposits to update them', async () => {
    for (const tag of ['latest', 'pending', 'latest', 'pending', 'latest']) {
      const { head, blocks } = await simulate(tag, [{ calls: [call] }, { calls: [call] }])
      const part = (200 * head) % 1_000
      expect(blocks.map(({ calls }) => Number(calls[0]?.returnData))).toEqual([part, part])
      await sleep(100)
    }
  })
})
