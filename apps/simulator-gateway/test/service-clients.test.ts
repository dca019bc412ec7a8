import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@upfront/devnet'
import { encodeFunctionData, erc20Abi, type Hex, parseEther, parseEventLogs, toHex } from 'viem'
import { entryPoint07Abi } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { ACCOUNT_ABI, type ChainStand, deployEntryPoint, startChain } from './user-operation-stand.js'

// `pnpm --filter @upfront/simulator-gateway test:service-clients` runs Alchemy's SDK and Pimlico's bundler from npm with our URL. They have
// 500 packages, so they are installed into a folder of their own, and `npm test` skips this file.
const isWanted = process.env.SERVICE_CLIENTS === 'on'
const suite = isWanted ? describe : describe.skip
if (!isWanted) console.log("Alchemy's SDK and a bundler are not tried: test:service-clients tries them")

const PACKAGES = { 'alchemy-sdk': '3.6.5', '@pimlico/alto': '0.0.20' }
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'upfront-service-clients')
const FRIEND = `0xf0${'0'.repeat(37)}1` as const

function install(): void {
  mkdirSync(folder, { recursive: true })
  const manifest = JSON.stringify({ private: true, dependencies: PACKAGES })
  writeFileSync(join(folder, 'package.json'), manifest)
  if (Object.keys(PACKAGES).every((name) => existsSync(join(folder, 'node_modules', name)))) return
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'pipe' })
}

suite(isWanted ? 'clients of other services' : 'clients of other services (skipped: test:service-clients)', () => {
  let chain: ChainStand
  let gateway: GatewayProcess

  beforeAll(async () => {
    install()
    chain = await startChain()
    // Blocks are asked for as soon as they are mined: the gateway must not guess when the next one is due.
    gateway = await startGateway({
      UPSTREAM_RPC_URL: chain.anvil.rpcUrl,
      DIALECT: 'ethereum',
      SENDING: 'on',
      FOLLOW_HEAD: 'off',
    })
  }, 600_000)
  afterAll(async () => {
    await gateway?.stop()
    await chain?.anvil.stop()
  })

  it("Alchemy's SDK reads asset changes and executions", async () => {
    const require = createRequire(join(folder, 'package.json'))
    const { Alchemy, Network } = require('alchemy-sdk')
    const { transact } = new Alchemy({ url: gateway.url, network: Network.ETH_MAINNET })
    const [sender] = (await chain.node.request({ method: 'eth_accounts' as never })) as unknown as [Hex]
    const ether = { from: sender, to: FRIEND, value: toHex(parseEther('1')) }
    expect(await transact.simulateAssetChanges(ether)).toMatchObject({
      changes: [{ assetType: 'NATIVE', changeType: 'TRANSFER', from: sender, to: FRIEND, amount: '1' }],
    })
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [FRIEND, 5n] })
    await chain.node.request({
      method: 'anvil_setCode' as never,
      params: [TOKEN, assemble('1 0 MSTORE 32 0 RETURN')] as never,
    })
    const call = { from: sender, to: TOKEN, data }
    expect(await transact.simulateExecution(call)).toMatchObject({
      calls: [{ type: 'CALL', from: sender, to: TOKEN, decoded: { authority: 'ERC-20', methodName: 'transfer' } }],
      logs: [],
    })
    expect(await transact.simulateAssetChangesBundle([ether, call])).toHaveLength(2)
    expect(await transact.simulateExecutionBundle([ether, call])).toHaveLength(2)
  })

  it("Pimlico's bundler accepts a user operation, and the chain executes it", async () => {
    const stand = await deployEntryPoint(chain, '0.7')
    const sender = await stand.create(0n)
    const bundler = await startBundler(gateway.url, stand.entryPoint, await fundedKey(chain))
    try {
      const callData = encodeFunctionData({ abi: ACCOUNT_ABI, functionName: 'execute', args: [FRIEND, 7n, '0x'] })
      const before = await chain.node.getBalance({ address: FRIEND })
      const fees = { maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
      const open = { sender, nonce: 0n, callData, ...fees }
      const stub = await stand.signed({ ...open, verificationGasLimit: 0n, callGasLimit: 0n, preVerificationGas: 0n })
      const limits = await bundler.ask('eth_estimateUserOperationGas', [wire(stub), stand.entryPoint])
      const found = Object.fromEntries(
        ['verificationGasLimit', 'callGasLimit', 'preVerificationGas'].map((name) => [name, BigInt(limits[name])]),
      )
      const signed = await stand.signed({ ...open, ...found })
      const hash = await bundler.ask('eth_sendUserOperation', [wire(signed), stand.entryPoint])
      let receipt = await bundler.ask('eth_getUserOperationReceipt', [hash])
      while (receipt === null) {
        await new Promise((resolve) => setTimeout(resolve, 200))
        receipt = await bundler.ask('eth_getUserOperationReceipt', [hash])
      }
      expect(receipt).toMatchObject({ success: true, userOpHash: hash })
      const { logs } = await chain.node.getTransactionReceipt({ hash: receipt.receipt.transactionHash })
      expect(parseEventLogs({ abi: entryPoint07Abi, logs, eventName: 'UserOperationEvent' })).toHaveLength(1)
      expect(await chain.node.getBalance({ address: FRIEND })).toBe(before + 7n)
    } finally {
      await bundler.stop()
    }
  }, 120_000)
})

const TOKEN = `0x70${'0'.repeat(37)}1` as const

const wire = (operation: object) =>
  Object.fromEntries(
    Object.entries(operation).map(([name, value]) => [name, typeof value === 'bigint' ? toHex(value) : value]),
  )

async function fundedKey(chain: ChainStand): Promise<Hex> {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await chain.mined(await chain.wallet.sendTransaction({ to: address, value: parseEther('10') }))
  return key
}

/** Alto, without the rules that it checks with a JavaScript tracer. */
async function startBundler(rpcUrl: string, entryPoint: Hex, key: Hex) {
  const port = await freePort()
  const program = join(folder, 'node_modules/@pimlico/alto/esm/cli/alto.js')
  const args = ['--entrypoints', entryPoint, '--executor-private-keys', key, '--utility-private-key', key]
  const settings = ['--rpc-url', rpcUrl, '--port', `${port}`, '--safe-mode', 'false', '--min-executor-balance', '0']
  const child: ChildProcess = spawn(process.execPath, [program, ...args, ...settings], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const ended = once(child, 'exit')
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (text) => {
        output += text
        if (/listening/i.test(output)) resolve()
      })
    ended.then(() => reject(new Error(`the bundler ended: ${output.slice(-2_000)}`)))
  })
  return {
    // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
    async ask(method: string, params: unknown[]): Promise<any> {
      const response = await fetch(`http://127.0.0.1:${port}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      const { result, error } = (await response.json()) as { result?: unknown; error?: unknown }
      if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}\n${output.slice(-3_000)}`)
      return result
    },
    async stop() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
