import { createPublicClient, createWalletClient, http, keccak256, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { WebSocket } from 'ws'
import { type Devnet, type FlashblockMessage, type Sequencer, startDevnet, startSequencer } from '../src/index.js'

const ALICE = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const BOB = '0x00000000000000000000000000000000000b0b00'

describe.each([
  ['Ethereum rules', false],
  ['OP-stack rules', true],
])('sequencer on a local chain with %s', (_, optimism) => {
  let devnet: Devnet
  let sequencer: Sequencer
  beforeAll(async () => {
    devnet = await startDevnet({
      payments: false,
      anvilArgs: ['--order', 'fifo', ...(optimism ? ['--network', 'optimism'] : [])],
    })
    sequencer = await startSequencer({ rpcUrl: devnet.rpcUrl, blockTimeMs: 1_000, flashblockMs: 100, optimism })
  })
  afterAll(async () => {
    await sequencer.stop()
    await devnet.stop()
  })

  it('streams each block before the node has it, with every transaction', async () => {
    const client = createPublicClient({ transport: http(devnet.rpcUrl) })
    const wallet = createWalletClient({ account: ALICE, chain: foundry, transport: http(devnet.rpcUrl) })
    const received: FlashblockMessage[] = []
    const socket = new WebSocket(sequencer.url)
    socket.on('message', (data) => received.push(JSON.parse(String(data))))
    await new Promise((resolve) => socket.once('open', resolve))
    const start = await client.getBlockNumber()
    const hashes: string[] = []
    // Enough that some arrive between sealing a block and opening the next one.
    for (let nonce = 0; nonce < 100; nonce++) {
      hashes.push(await wallet.sendTransaction({ to: BOB, value: parseEther('1'), gas: 21_000n, nonce }))
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const streamedHashes = () =>
      new Set<string>(received.flatMap((message) => message.diff.transactions.map((raw) => keccak256(raw as '0x'))))
    await until(async () => hashes.every((hash) => streamedHashes().has(hash)))
    // A block has been streamed completely once the next one has begun.
    await until(async () => received.some((message) => message.metadata.block_number > Number(start) + 3))
    socket.close()

    const blockOf = new Map<number, FlashblockMessage[]>()
    for (const message of received) {
      const { block_number } = message.metadata
      blockOf.set(block_number, [...(blockOf.get(block_number) ?? []), message])
    }
    const whole = [...blockOf].filter(([number]) => number > Number(start) + 1 && number <= Number(start) + 3)
    expect(whole).not.toHaveLength(0)
    for (const [number, messages] of whole) {
      const sealed = await client.getBlock({ blockNumber: BigInt(number) })
      expect(messages.map((message) => message.index)).toEqual(messages.map((_, i) => i))
      expect(messages[0]?.base?.parent_hash).toBe(sealed.parentHash)
      expect(BigInt(messages[0]?.base?.timestamp ?? 0)).toBe(sealed.timestamp)
      expect(BigInt(messages.at(-1)?.diff.gas_used ?? -1)).toBe(sealed.gasUsed)
      const streamed = messages.flatMap((message) => message.diff.transactions.map((raw) => keccak256(raw as '0x')))
      expect(streamed).toEqual(sealed.transactions)
      expect(messages[0]?.diff.transactions[0]?.startsWith('0x7e') ?? false).toBe(optimism)
    }
  })

  it('injects a fault requested over HTTP, and answers 404 to an unknown one', async () => {
    const control = sequencer.url.replace('ws:', 'http:')
    const received: FlashblockMessage[] = []
    const socket = new WebSocket(sequencer.url)
    socket.on('message', (data) => received.push(JSON.parse(String(data))))
    await new Promise((resolve) => socket.once('open', resolve))
    expect((await fetch(`${control}/inject?fault=nonsense`, { method: 'POST' })).status).toBe(404)
    expect((await fetch(`${control}/inject?fault=duplicate`, { method: 'POST' })).status).toBe(200)
    const same = (a: FlashblockMessage, b: FlashblockMessage | undefined) =>
      a.payload_id === b?.payload_id && a.index === b.index
    await until(async () => received.some((message, i) => same(message, received[i + 1])))
    socket.close()
  })
})

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 50))
}
