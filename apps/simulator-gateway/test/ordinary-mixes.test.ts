import { readFileSync } from 'node:fs'
import {
  type Devnet,
  readArtifact,
  startDevnet,
  swapRouterAbi,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import type { Outcome } from '@upfront/simulation'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeDeployData,
  encodeFunctionData,
  type Hex,
  http,
  keccak256,
  maxUint256,
  parseAbi,
  parseEther,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type GatewayProcess, startGateway } from './gateway-process.js'

/** Kinds that revert as requested. */
const FAILING = new Set(['burn', "setting the L1 block, which is not the sender's to do"])
/** `ORDINARY=1600` runs the long form. `packages/engine-revm/test/outcome` has transactions of real blocks. */
const COUNT = Number(process.env.ORDINARY ?? 90)

interface Call {
  from?: Hex
  to?: Hex
  input?: Hex
  value?: Hex
}

let devnet: Devnet
let gateway: GatewayProcess
let account: ReturnType<typeof privateKeyToAccount>
let kinds: Record<string, (at: number) => Call>

/** A number below `most`, distinct by place and name, the same in each run. */
function drawn(at: number, name: string, most: bigint): bigint {
  return BigInt(keccak256(toHex(`${at} ${name}`))) % most
}

beforeAll(async () => {
  devnet = await startDevnet({ uniswap: true, payments: false })
  account = privateKeyToAccount(devnet.accounts.deployer.privateKey)
  const [fee, rebasing, batch] = [await deploy('FeeToken'), await deploy('RebasingToken'), await deploy('BatchAccount')]
  const { token0, token1 } = devnet.uniswap!
  const lending = await deploy('LendingPool', [token0, token1])
  kinds = { ...kindsOn(devnet.uniswap!, { fee, rebasing, batch }), ...lendingOn(lending), ...predeploysOn() }
  await placePredeploys()
  for (const token of [token0, token1]) {
    await mined({ to: token, data: call('mint', [account.address, parseEther('1000000')]) })
    await mined({ to: token, data: call('approve', [lending, maxUint256]) })
  }
  await mined({ to: token1, data: call('mint', [lending, parseEther('1000000')]) })
  // Interest may accrue between the estimate and the block.
  for (const [functionName, amount] of [
    ['deposit', '10000'],
    ['borrow', '1000'],
  ] as const)
    await mined({
      to: lending,
      gas: 500_000n,
      data: encodeFunctionData({ abi: lendingAbi, functionName, args: [parseEther(amount)] }),
    })
  for (const to of [fee, rebasing]) await mined({ to, data: call('mint', [account.address, parseEther('1000')]) })
  gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl })
})
afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

async function mined(transaction: { to?: Hex; data: Hex; gas?: bigint }) {
  const transport = http(devnet.rpcUrl)
  const hash = await createWalletClient({ account, transport }).sendTransaction({ chain: null, ...transaction })
  return createPublicClient({ transport, pollingInterval: 20 }).waitForTransactionReceipt({ hash })
}

async function deploy(
  name: 'FeeToken' | 'RebasingToken' | 'BatchAccount' | 'LendingPool',
  args: Hex[] = [],
): Promise<Hex> {
  return (await mined({ data: encodeDeployData({ ...readArtifact(name), args }) })).contractAddress!
}

function call(functionName: 'mint' | 'transfer' | 'approve', args: readonly [Hex, bigint]): Hex {
  return encodeFunctionData({ abi: testTokenAbi, functionName, args } as never)
}

/** Predeploys of an OP-stack chain with their storage, from testing/recordings/conformance-op, which runs op-geth's genesis. */
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const MESSAGE_PASSER = '0x4200000000000000000000000000000000000016'
const OP_STATE = new URL('../../../testing/recordings/conformance-op/chain/head-state.json', import.meta.url)

async function placePredeploys(): Promise<void> {
  const state: Record<string, { code: Hex; storage: Record<Hex, Hex> }> = JSON.parse(readFileSync(OP_STATE, 'utf8'))
  const node = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
  for (const address of [L1_BLOCK, MESSAGE_PASSER] as const) {
    const { code, storage } = state[address]!
    await node.setCode({ address, bytecode: code })
    for (const [index, value] of Object.entries(storage) as [Hex, Hex][])
      await node.setStorageAt({ address, index, value })
  }
}

const messagePasserAbi = parseAbi(['function initiateWithdrawal(address target, uint256 gasLimit, bytes data) payable'])

function predeploysOn(): typeof kinds {
  const withdrawal = (at: number) => {
    const target = toHex(drawn(at, 'target', 1n << 160n), { size: 20 })
    const args = [
      target,
      21_000n + drawn(at, 'limit', 1_000_000n),
      toHex(drawn(at, 'data', 1n << 256n), { size: 32 }),
    ] as const
    return encodeFunctionData({ abi: messagePasserAbi, functionName: 'initiateWithdrawal', args })
  }
  const value = (at: number) => toHex(1n + drawn(at, 'withdrawn', parseEther('1')))
  return {
    'withdrawal from an OP chain': (at) => ({ to: MESSAGE_PASSER, input: withdrawal(at), value: value(at) }),
    'ether to the message passer': (at) => ({ to: MESSAGE_PASSER, value: value(at) }),
    "setting the L1 block, which is not the sender's to do": () => ({ to: L1_BLOCK, input: '0x3db6be2b' }),
  }
}

const pairAbi = parseAbi(['function sync()', 'function skim(address to)', 'function burn(address to)'])
const factoryAbi = parseAbi(['function createPair(address tokenA, address tokenB)'])

const lendingAbi = parseAbi([
  'function deposit(uint256)',
  'function withdraw(uint256)',
  'function borrow(uint256)',
  'function repay(uint256)',
])

function lendingOn(to: Hex): typeof kinds {
  return Object.fromEntries(
    (['deposit', 'withdraw', 'borrow', 'repay'] as const).map((functionName) => [
      `${functionName} of a lending pool`,
      (at: number) => {
        const args = [1n + drawn(at, functionName, parseEther('900'))] as const
        return { to, input: encodeFunctionData({ abi: lendingAbi, functionName, args }) }
      },
    ]),
  )
}

function kindsOn(
  { token0, token1, router, pairV2, poolV3, factoryV2 }: UniswapContracts,
  { fee, rebasing, batch }: Record<'fee' | 'rebasing' | 'batch', Hex>,
): typeof kinds {
  const someone = (at: number): Hex => toHex(drawn(at, 'someone', 1n << 160n), { size: 20 })
  const amount = (at: number) => 1n + drawn(at, 'amount', parseEther('100'))
  const token = (at: number) => (drawn(at, 'token', 2n) === 0n ? token0 : token1)
  const swap = (functionName: 'swapV2' | 'swapV3', pool: Hex) => (at: number) => {
    const args = [pool, token(at), amount(at), drawn(at, 'least', 2n) * (amount(at) / 2n), account.address] as const
    return { to: router, input: encodeFunctionData({ abi: swapRouterAbi, functionName, args }) }
  }
  const pair = (functionName: 'skim' | 'burn') => (at: number) => ({
    to: pairV2,
    input: encodeFunctionData({ abi: pairAbi, functionName, args: [someone(at)] }),
  })
  const transfer = (to: Hex) => (at: number) => ({ to, input: call('transfer', [someone(at), amount(at)]) })
  return {
    'native transfer': (at) => ({ to: someone(at), value: toHex(amount(at) / 100n) }),
    'token transfer': (at) => transfer(token(at))(at),
    'token with a fee': transfer(fee),
    'token that rebases': transfer(rebasing),
    approval: (at) => ({ to: token(at), input: call('approve', [someone(at), amount(at)]) }),
    mint: (at) => ({ to: token(at), input: call('mint', [someone(at), amount(at)]) }),
    'swap on v2': swap('swapV2', pairV2),
    'swap on v3': swap('swapV3', poolV3),
    'liquidity on v3': (at) => {
      const width = 60 * (1 + Number(drawn(at, 'width', 500n)))
      const args = [poolV3, -width, width, amount(at), account.address] as const
      return { to: router, input: encodeFunctionData({ abi: swapRouterAbi, functionName: 'mintV3', args }) }
    },
    skim: pair('skim'),
    burn: pair('burn'),
    'a pair is made': (at) => {
      const args = [someone(at), token(at)] as const
      return { to: factoryV2, input: encodeFunctionData({ abi: factoryAbi, functionName: 'createPair', args }) }
    },
    'a contract is made': (at) => ({
      input: `0x60${toHex(drawn(at, 'code', 255n), { size: 1 }).slice(2)}5f5260205ff3`,
    }),
    batch: (at) => {
      const calls = [transfer(token(at))(at), { to: token(at), input: call('mint', [batch, amount(at)]) }]
      const args = [calls.map(({ to, input }) => ({ to, value: 0n, data: input })).reverse()]
      return {
        ...{ from: batch, to: batch },
        input: encodeFunctionData({ abi: readArtifact('BatchAccount').abi, functionName: 'execute', args }),
      }
    },
  }
}

it(`reports at most 1% of ordinary transactions as "watched": ${COUNT} of many kinds`, async () => {
  const names = Object.keys(kinds)
  const watched: string[] = []
  const succeeded = new Set<string>()
  for (let at = 0; at < COUNT; at += 1) {
    const name = names[at % names.length]!
    const limit = [undefined, 200_000, 6_200_000][Number(drawn(at, 'gas', 3n))]
    const gas = limit === undefined ? {} : { gas: toHex(limit) }
    const calls = [{ from: account.address, ...kinds[name]!(at), ...gas }]
    const params = [{ blockStateCalls: [{ calls }], outcome: true }, 'latest']
    const { result } = await gateway.call<{ calls: { status: Hex; outcome: Outcome }[] }[]>('upfront_simulate', params)
    const { status, outcome } = result![0]!.calls[0]!
    if (status === '0x1') succeeded.add(name)
    if (outcome.verdict === 'watched') watched.push(`${at} ${name}: ${JSON.stringify(outcome.because[0])}`)
  }
  expect([...succeeded].sort()).toEqual(names.filter((name) => !FAILING.has(name)).sort())
  expect({ watched, isTooMany: watched.length > COUNT / 100 }).toMatchObject({ isTooMany: false })
  if (COUNT > 1_000) console.log(`${COUNT} ordinary transactions, watched:`, watched)
}, 540_000)
