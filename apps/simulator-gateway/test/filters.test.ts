import { setTimeout as sleep } from 'node:timers/promises'
import { type Anvil, DEVNET_ROLES, rpc, startAnvil } from '@upfront/devnet'
import { Contract, JsonRpcProvider } from 'ethers'
import { createPublicClient, createWalletClient, http, parseAbi, parseAbiItem, toEventSelector } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type GatewayProcess, startGateway } from './gateway-process.js'

/** Emits `Touched()` when called. */
const EVENT = 'event Touched()'
const TOPIC = toEventSelector(parseAbiItem(EVENT))
const EMITTER = `0x${'7f'}${TOPIC.slice(2)}60006000a1` as const

describe('filters over HTTP', () => {
  let anvil: Anvil
  let gateway: GatewayProcess
  const emitter = '0x00000000000000000000000000000000000e3177'
  const wallet = () =>
    createWalletClient({
      account: privateKeyToAccount(DEVNET_ROLES.deployer.privateKey),
      chain: foundry,
      transport: http(anvil.rpcUrl),
    })
  const emit = () => wallet().sendTransaction({ to: emitter, gas: 100_000n })

  beforeAll(async () => {
    anvil = await startAnvil(['--port', '0'])
    await rpc(anvil.rpcUrl, 'anvil_setCode', [emitter, EMITTER])
    gateway = await startGateway({ UPSTREAM_RPC_URL: anvil.rpcUrl, UPSTREAM_WS_URL: anvil.wsUrl })
  })
  afterAll(async () => {
    await gateway?.stop()
    await anvil?.stop()
  })

  const made = async (method: string, params: unknown[] = []) => {
    const { result, error } = await gateway.call<string>(method, params)
    expect(error).toBeUndefined()
    return result as string
  }
  const changes = async <T>(id: string, count: number): Promise<T[]> => {
    const all: T[] = []
    while (all.length < count) {
      const { result } = await gateway.call<T[]>('eth_getFilterChanges', [id])
      all.push(...(result as T[]))
      await sleep(20)
    }
    return all
  }

  it('return blocks, logs and pending transactions as the node has them, each once', async () => {
    const blocks = await made('eth_newBlockFilter')
    const logs = await made('eth_newFilter', [{ address: emitter, topics: [TOPIC] }])
    const others = await made('eth_newFilter', [{ address: `0x${'11'.repeat(20)}` }])
    const waiting = await made('eth_newPendingTransactionFilter')
    const whole = await made('eth_newPendingTransactionFilter', [true])
    const sent = [await emit(), await emit(), await emit()]
    expect((await changes<{ transactionHash: string }>(logs, 3)).map((log) => log.transactionHash)).toEqual(sent)
    const hashes = await changes<string>(blocks, 3)
    for (const [at, hash] of hashes.entries())
      expect(await rpc(anvil.rpcUrl, 'eth_getBlockByHash', [hash, false])).toMatchObject({ transactions: [sent[at]] })
    expect(await changes(waiting, 3)).toEqual(sent)
    expect((await changes<{ hash: string }>(whole, 3)).map(({ hash }) => hash)).toEqual(sent)
    expect((await gateway.call('eth_getFilterChanges', [others])).result).toEqual([])
    expect((await gateway.call<unknown[]>('eth_getFilterLogs', [logs])).result).toEqual(
      await rpc(anvil.rpcUrl, 'eth_getLogs', [{ address: emitter, topics: [TOPIC] }]),
    )
    expect((await gateway.call('eth_uninstallFilter', [logs])).result).toBe(true)
    expect((await gateway.call('eth_uninstallFilter', [logs])).result).toBe(false)
  })

  it("return geth's errors for unknown filters, bad ids and bad addresses", async () => {
    const refusal = async (method: string, params: unknown[]) => (await gateway.call(method, params)).error
    for (const id of ['0x1', '__proto__'])
      expect(await refusal('eth_getFilterChanges', [id])).toEqual({ code: -32000, message: 'filter not found' })
    for (const id of [7, null])
      for (const method of ['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_uninstallFilter'])
        expect(await refusal(method, [id])).toMatchObject({ code: -32602 })
    expect(await refusal('eth_newFilter', [{ address: '0x12' }])).toMatchObject({
      code: -32602,
      message: expect.stringContaining('params[0].address'),
    })
    expect(await refusal('eth_newPendingTransactionFilter', ['yes'])).toMatchObject({ code: -32602 })
    expect(await refusal('eth_newFilter', [{ toBlock: '0x1' }])).toEqual({
      code: -32602,
      message: 'invalid block range params',
    })
    expect(await refusal('eth_accounts', [])).toEqual({
      code: -32601,
      message: 'the method eth_accounts does not exist/is not available',
    })
  })

  it('serve the event listeners of ethers and viem, which detect filters themselves', async () => {
    const provider = new JsonRpcProvider(`${gateway.url}/ethereum`, undefined, { polling: false })
    const heard: string[] = []
    await new Contract(emitter, [EVENT], provider).on('Touched', ({ log }) => heard.push(log.transactionHash))
    const client = createPublicClient({ transport: http(`${gateway.url}/ethereum`), pollingInterval: 50 })
    const watched: (string | null)[] = []
    const unwatch = client.watchContractEvent({
      address: emitter,
      abi: parseAbi([EVENT]),
      onLogs: (logs) => watched.push(...logs.map(({ transactionHash }) => transactionHash)),
    })
    // Until the libraries have created their filters.
    while (heard.length === 0 || watched.length === 0) {
      await emit()
      await sleep(100)
    }
    const sent = await emit()
    while (heard.at(-1) !== sent || watched.at(-1) !== sent) {
      // ethers asks its filter once per block, and the filter may have a block's logs later than the block.
      await rpc(anvil.rpcUrl, 'anvil_mine', [])
      await sleep(100)
    }
    expect(new Set(heard).size).toBe(heard.length)
    expect(new Set(watched).size).toBe(watched.length)
    const uninstalled = () => gateway.metric('upfront_rpc_calls_total{method="eth_uninstallFilter",outcome="ok"}')
    const before = await uninstalled()
    unwatch()
    await provider.removeAllListeners()
    while ((await uninstalled()) < before + 2) await sleep(20)
    provider.destroy()
  })
})
