import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DEVNET_ROLES,
  deployUniswap,
  swapRouterAbi,
  TEST_TOKEN_SLOTS,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import {
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  http,
  keccak256,
  numberToHex,
  parseEther,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { connect } from './web-socket-client.js'

/** geth from `GETH`, the path or the folder of `go install`. */
function findGeth(): string | undefined {
  const { GETH, GOPATH = join(homedir(), 'go'), PATH = '' } = process.env
  const candidates = [...PATH.split(':'), join(GOPATH, 'bin')].map((directory) => join(directory, 'geth'))
  return [GETH, ...candidates].find((path) => path !== undefined && existsSync(path))
}

interface Block {
  hash: string
  stateRoot: string
}

const geth = findGeth()
const title = 'answers equal those of a real geth'
const suite = geth === undefined ? describe.skip : describe
const { deployer } = DEVNET_ROLES
const PATIENCE_MS = 25_000
const NOBODY = '0x00000000000000000000000000000000000d0b0d'
const CODE = '0x00000000000000000000000000000000000c0de7'

suite(geth === undefined ? `${title} (skipped: no geth here, see GETH)` : title, () => {
  const directory = mkdtempSync(join(tmpdir(), 'geth-'))
  let node: ChildProcess | undefined
  let nodeUrl: string
  let uniswap: UniswapContracts
  let gateways: GatewayProcess[]

  const callNode = async (method: string, params: unknown) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(nodeUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()) as { result?: unknown; error?: { code: number; message: string } }
  }

  async function startNode(folder: string): Promise<void> {
    // Its own dev chain has a fork after Osaka; this genesis has none.
    const genesis = JSON.parse(readFileSync(new URL('./conformance/genesis.json', import.meta.url), 'utf8'))
    genesis.alloc[deployer.address.slice(2)] = { balance: numberToHex(parseEther('1000')) }
    const genesisFile = `${folder}.json`
    writeFileSync(genesisFile, JSON.stringify(genesis))
    execFileSync(geth as string, ['init', '--datadir', folder, genesisFile], { stdio: 'ignore' })
    const apart = ['--nodiscover', '--maxpeers=0', '--ipcdisable', '--port=0', '--authrpc.port=0']
    // Both servers on one port.
    const servers = ['--http', '--http.port=0', '--http.api=eth,net,web3,debug', '--ws', '--ws.port=0']
    const started = spawn(geth as string, ['--dev', `--datadir=${folder}`, ...apart, ...servers], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    node = started
    nodeUrl = await new Promise<string>((resolve, reject) => {
      let said = ''
      started.stderr?.on('data', (chunk: Buffer) => {
        said += chunk
        const port = /HTTP server started\s+endpoint=\S+:(\d+)/.exec(said)?.[1]
        if (port !== undefined) resolve(`http://127.0.0.1:${port}`)
      })
      started.once('close', () => reject(new Error(`geth ended: ${said.slice(-500)}`)))
    })
  }

  async function stopNode(): Promise<void> {
    if (node === undefined || node.exitCode !== null) return
    node.kill('SIGKILL')
    await once(node, 'close')
  }

  beforeAll(async () => {
    // In dev mode, geth may miss a transaction that arrives while it seals, and the deployment hangs: then start another node.
    for (let attempt = 1; ; attempt++) {
      await startNode(join(directory, `chain-${attempt}`))
      const late = sleep(PATIENCE_MS, undefined, { ref: false })
      const deployed = await Promise.race([deployUniswap(nodeUrl, deployer.privateKey), late])
      if (deployed !== undefined) {
        uniswap = deployed
        break
      }
      await stopNode()
      if (attempt === 3) throw new Error(`geth did not mine within ${PATIENCE_MS} ms, three times`)
    }
    gateways = await Promise.all(
      ['auto', 'portable'].map((engine) =>
        startGateway({
          UPSTREAM_RPC_URL: nodeUrl,
          UPSTREAM_WS_URL: nodeUrl.replace('http', 'ws'),
          DIALECT: 'ethereum',
          EVM_ENGINE: engine,
        }),
      ),
    )
  }, 120_000)
  afterAll(async () => {
    await Promise.all((gateways ?? []).map((gateway) => gateway.stop()))
    await stopNode()
    rmSync(directory, { recursive: true, force: true })
  })

  /** geth's answer with zero state roots and therefore our block hashes. */
  function asOurs(answer: { result?: unknown; error?: { code: number } }, ours: unknown): unknown {
    if (answer.error !== undefined) return { error: expect.objectContaining({ code: answer.error.code }) }
    let text = JSON.stringify(answer.result)
    for (const [index, { hash, stateRoot }] of (answer.result as Block[]).entries()) {
      const { hash: ourHash = '0xnone' } = (ours as Block[] | undefined)?.[index] ?? {}
      text = text.replaceAll(hash.slice(2), ourHash.slice(2)).replaceAll(stateRoot.slice(2), '0'.repeat(64))
    }
    return { result: JSON.parse(text) }
  }

  async function expectAgreement(payload: object, block: string = 'latest'): Promise<Block[]> {
    const expected = await callNode('eth_simulateV1', [payload, block])
    for (const gateway of gateways) {
      const { result, error } = await gateway.call('eth_simulateV1', [payload, block])
      expect(error === undefined ? { result } : { error }).toEqual(asOurs(expected, result))
    }
    return (expected.result ?? []) as Block[]
  }

  const swap = (version: 'swapV2' | 'swapV3', tokenIn: 'token0' | 'token1', amount: bigint, minimum = 0n) => {
    const pool = version === 'swapV2' ? uniswap.pairV2 : uniswap.poolV3
    const args = [pool, uniswap[tokenIn], amount, minimum, deployer.address] as const
    const data = encodeFunctionData({ abi: swapRouterAbi, functionName: version, args })
    return { from: deployer.address, to: uniswap.router, data }
  }
  const transfer = (from: string, amount: bigint) => ({
    from,
    to: uniswap.token0,
    data: encodeFunctionData({ abi: testTokenAbi, functionName: 'transfer', args: [NOBODY, amount] }),
  })
  const balanceSlot = (account: `0x${string}`) =>
    keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [account, TEST_TOKEN_SLOTS.balanceOf]))

  it('for swaps on Uniswap v2 and v3 over three blocks', async () => {
    const calls = [swap('swapV3', 'token0', parseEther('10')), swap('swapV2', 'token1', parseEther('7'))]
    const blocks = await expectAgreement({ blockStateCalls: [{ calls }, { calls }, { calls: [...calls, ...calls] }] })
    expect(blocks).toHaveLength(3)
  })

  it('for failures: custom errors, reverts, panics, halts', async () => {
    const stateOverrides = { [CODE]: { code: assemble('INVALID') } }
    const calls = [
      swap('swapV3', 'token0', parseEther('10'), parseEther('11')),
      transfer(NOBODY, 1n),
      { to: CODE },
      { to: uniswap.poolV3, data: '0x12345678' },
      { from: deployer.address, to: uniswap.token0, data: transfer(NOBODY, 1n).data, gas: '0x5300' },
    ]
    await expectAgreement({ blockStateCalls: [{ stateOverrides, calls }] })
  })

  it('for an unknown sender with tokens from an override', async () => {
    const value = numberToHex(parseEther('5'), { size: 32 })
    const stateOverrides = {
      [uniswap.token0]: { stateDiff: { [balanceSlot(NOBODY)]: value } },
      [NOBODY]: { balance: numberToHex(parseEther('1')) },
    }
    const calls = [transfer(NOBODY, parseEther('2')), { from: NOBODY, to: CODE, value: '0x1' }]
    await expectAgreement({ traceTransfers: true, validation: false, blockStateCalls: [{ stateOverrides, calls }] })
  })

  it('for validation: fees, nonces, base fee', async () => {
    const fees = { maxFeePerGas: numberToHex(parseEther('0.0000001')), maxPriorityFeePerGas: '0x3b9aca00' }
    const calls = [
      { ...swap('swapV3', 'token0', 1_000n), ...fees },
      { ...transfer(deployer.address, 1n), ...fees },
    ]
    await expectAgreement({ validation: true, returnFullTransactions: true, blockStateCalls: [{ calls }, { calls }] })
    await expectAgreement({ validation: true, blockStateCalls: [{ calls: [{ ...calls[0], nonce: '0x0' }] }] })
    await expectAgreement({
      validation: true,
      blockStateCalls: [{ calls: [{ ...calls[0], maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }] }],
    })
  })

  it('for the block environment, hashes of real and simulated ancestors, and gaps', async () => {
    const program = `NUMBER 0 MSTORE TIMESTAMP 32 MSTORE BASEFEE 64 MSTORE COINBASE 96 MSTORE GASLIMIT 128 MSTORE
      PREVRANDAO 160 MSTORE CHAINID 192 MSTORE 1 BLOCKHASH 224 MSTORE 0 CALLDATALOAD BLOCKHASH 256 MSTORE 288 0 RETURN`
    const { result } = await callNode('eth_blockNumber', [])
    const ask = (ahead: number) => ({
      to: CODE,
      data: numberToHex(BigInt(result as string) + BigInt(ahead), { size: 32 }),
    })
    const stateOverrides = { [CODE]: { code: assemble(program) } }
    const number = numberToHex(BigInt(result as string) + 5n)
    const blockStateCalls = [
      { stateOverrides, calls: [ask(0), ask(-1), ask(1)] },
      {
        blockOverrides: { number, feeRecipient: NOBODY, gasLimit: '0x1000000' },
        calls: [ask(0), ask(2), ask(4), ask(5)],
      },
      { calls: [ask(5)] },
    ]
    await expectAgreement({ blockStateCalls })
  })

  it('for contract creation, SELFDESTRUCT, access lists and an earlier block', async () => {
    const stateOverrides = { [CODE]: { code: assemble(`${NOBODY} SELFDESTRUCT`), balance: '0x64' } }
    const accessList = [{ address: uniswap.token0, storageKeys: [balanceSlot(NOBODY)] }]
    const calls = [
      { from: deployer.address, data: assemble('0 0 SSTORE 0x600160005500 0 MSTORE 6 26 RETURN') },
      { from: deployer.address, to: CODE },
      { ...transfer(deployer.address, 5n), accessList },
    ]
    await expectAgreement({ traceTransfers: true, blockStateCalls: [{ stateOverrides, calls }] })
    const { result } = await callNode('eth_blockNumber', [])
    await expectAgreement(
      { blockStateCalls: [{ calls: [transfer(deployer.address, 5n)] }] },
      numberToHex(BigInt(result as string) - 3n),
    )
  })

  it('for requests that geth rejects', async () => {
    await expectAgreement({ blockStateCalls: [] })
    await expectAgreement({ blockStateCalls: [{ blockOverrides: { number: '0x1' } }] })
    await expectAgreement({ blockStateCalls: [{ blockOverrides: { time: '0x1' } }] })
    await expectAgreement({
      blockStateCalls: [{ calls: [{ from: CODE, to: NOBODY, value: '0x1' }] }],
      validation: true,
    })
    await expectAgreement({ blockStateCalls: [{ calls: [{ to: NOBODY, gas: '0xffffffff' }] }] })
    await expectAgreement({ blockStateCalls: [{ calls: [] }] }, '0xffffff')
  })

  it('for pending transactions, as hashes and in full', async () => {
    const clients = await Promise.all([nodeUrl, ...gateways.map(({ url }) => url)].map((url) => connect(url)))
    const subscribed = (...params: unknown[]) =>
      Promise.all(clients.map(async ({ call }) => (await call('eth_subscribe', params)).result))
    const hashes = await subscribed('newPendingTransactions')
    const whole = await subscribed('newPendingTransactions', true)
    const wallet = createWalletClient({ account: privateKeyToAccount(deployer.privateKey), transport: http(nodeUrl) })
    const sent = await wallet.sendTransaction({ chain: null, to: NOBODY, value: 1n, gas: 30_000n })
    const first = (ids: unknown[]) =>
      Promise.all(clients.map(async ({ notifications }, at) => (await notifications(ids[at], 1))[0]))
    expect(await first(hashes)).toEqual([sent, sent, sent])
    const [ofGeth, ...ours] = await first(whole)
    expect(ofGeth).toMatchObject({ hash: sent, from: deployer.address.toLowerCase(), value: '0x1', blockHash: null })
    expect(ours).toEqual([ofGeth, ofGeth])
    for (const { socket } of clients) socket.close()
  })
})
