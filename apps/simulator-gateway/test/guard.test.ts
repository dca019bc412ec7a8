import {
  DEVNET_ROLES,
  type Devnet,
  readArtifact,
  startDevnet,
  swapRouterAbi,
  testTokenAbi,
  type UniswapContracts,
} from '@upfront/devnet'
import { GUARD_CODE, guardAbi, guardDeployment, OUTCOME_GUARD, type ShownGuard } from '@upfront/simulation'
import {
  type Address,
  createTestClient,
  createWalletClient,
  decodeErrorResult,
  encodeFunctionData,
  type Hex,
  http,
  maxUint256,
  parseEther,
  publicActions,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'

/** `GUARD_STATES=1000` runs the long form. */
const STATES = Number(process.env.GUARD_STATES ?? 8)
const NUMBERS = Array.from({ length: STATES }, (_, at) => at)
/** 0.2 to 20.2 tokens, distinct for each of a hundred states. */
const amountOf = (at: number) => parseEther('0.2') * BigInt(1 + ((at * 37) % 101))
const THIEF = '0xf000000000000000000000000000000000000666'
const owner = privateKeyToAccount(DEVNET_ROLES.buyer.privateKey)
const trader = privateKeyToAccount(DEVNET_ROLES.deployer.privateKey)
const batchAbi = readArtifact('BatchAccount').abi

let devnet: Devnet
let gateway: GatewayProcess
let uniswap: UniswapContracts
const node = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) }).extend(publicActions)
const wallet = (account = owner) => createWalletClient({ account, transport: http(devnet.rpcUrl) })

beforeAll(async () => {
  devnet = await startDevnet({ uniswap: true, payments: false })
  uniswap = devnet.uniswap!
  gateway = await startGateway({ UPSTREAM_RPC_URL: devnet.rpcUrl, LIMITS: { callsPerSecond: 0 } })
  const { abi, bytecode } = readArtifact('BatchAccount')
  const hash = await wallet(trader).deployContract({ chain: null, abi, bytecode })
  const { contractAddress } = await node().waitForTransactionReceipt({ hash })
  await node().setCode({ address: owner.address, bytecode: `0xef0100${contractAddress!.slice(2)}` })
  for (const token of [uniswap.token0, uniswap.token1]) {
    const mint = { abi: testTokenAbi, functionName: 'mint', args: [owner.address, parseEther('1000')] } as const
    await sent(trader, token, encodeFunctionData(mint))
    await sent(
      owner,
      token,
      encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [uniswap.router, maxUint256] }),
    )
  }
}, 120_000)

afterAll(async () => {
  await gateway?.stop()
  await devnet?.stop()
})

async function sent(account: typeof owner, to: Address, data: Hex): Promise<boolean> {
  const hash = await wallet(account).sendTransaction({ chain: null, to, data, gas: 5_000_000n })
  return (await node().waitForTransactionReceipt({ hash })).status === 'success'
}

async function guardOf(call: object): Promise<ShownGuard> {
  const params = [{ blockStateCalls: [{ calls: [call] }], guard: true }, 'latest']
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'upfront_simulate', params })
  const response = await fetch(gateway.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result } = (await response.json()) as { result: { calls: { guard: ShownGuard }[] }[] }
  return result[0]!.calls[0]!.guard
}

const swap = (amount: bigint, seller = owner.address): Hex =>
  encodeFunctionData({
    abi: swapRouterAbi,
    functionName: 'swapV2',
    args: [uniswap.pairV2, uniswap.token0, amount, 0n, seller],
  })

function batch(guard: ShownGuard, data: Hex): Hex {
  const calls = [guard.before, { to: uniswap.router, data }, guard.after].map((call) => ({ ...call, value: 0n }))
  return encodeFunctionData({ abi: batchAbi, functionName: 'execute', args: [calls] })
}

const balances = () =>
  Promise.all(
    [uniswap.token0, uniswap.token1].map((address) =>
      node().readContract({ address, abi: testTokenAbi, functionName: 'balanceOf', args: [owner.address] }),
    ),
  )

/** Code that takes as much of these tokens from its caller as it may. */
function thief(...tokens: Address[]): Hex {
  const take = (token: Address) =>
    `${BigInt('0x23b872dd') << 224n} 0 MSTORE CALLER 4 MSTORE ${BigInt(THIEF)} 36 MSTORE ${parseEther('500')} 68 MSTORE 0 0 100 0 0 ${BigInt(token)} GAS CALL POP`
  return assemble(`${tokens.map(take).join(' ')} STOP`)
}

const SWITCHES = {
  'a trade before': () => sent(trader, uniswap.router, swap(parseEther('60000'), trader.address)),
  'a small trade before': () => sent(trader, uniswap.router, swap(parseEther('9000'), trader.address)),
  'a contract that takes what is sold': () =>
    node().setCode({ address: uniswap.router, bytecode: thief(uniswap.token0) }),
  'a contract that takes what is bought': () =>
    node().setCode({ address: uniswap.router, bytecode: thief(uniswap.token1) }),
  'a contract that takes both': () =>
    node().setCode({ address: uniswap.router, bytecode: thief(uniswap.token0, uniswap.token1) }),
  'a contract that does nothing': () => node().setCode({ address: uniswap.router, bytecode: '0x00' }),
}

describe('OutcomeGuard', () => {
  it('is deployed from its source to its deterministic address', async () => {
    expect(await node().getCode({ address: OUTCOME_GUARD })).toBe(GUARD_CODE)
    await node().setCode({ address: OUTCOME_GUARD, bytecode: '0x' })
    expect((await guardOf({ from: owner.address, to: owner.address })).isDeployed).toBe(false)
    expect(await sent(trader, guardDeployment.to, guardDeployment.data)).toBe(true)
    expect(await node().getCode({ address: OUTCOME_GUARD })).toBe(GUARD_CODE)
  })

  it('states bounds and needs no more gas than it says', async () => {
    const data = swap(parseEther('1'))
    const guard = await guardOf({ from: owner.address, to: uniswap.router, input: data })
    expect(guard).toMatchObject({ contract: OUTCOME_GUARD, isDeployed: true })
    const tokens = [uniswap.token0, uniswap.token1].map((token) => token.toLowerCase())
    expect(guard.bounds).toEqual([
      { least: '0x0' },
      { token: tokens[0], least: `-0x${((parseEther('1') * 101n) / 100n).toString(16)}` },
      { token: tokens[1], least: expect.stringMatching(/^0x/) },
      ...tokens.map((token) => ({ token, spender: uniswap.router.toLowerCase(), most: '0x0' })),
    ])
    const gasOf = (calls: object[]) =>
      node().estimateGas({
        account: owner.address,
        to: owner.address,
        data: encodeFunctionData({ abi: batchAbi, functionName: 'execute', args: [calls] }),
      })
    const plain = await gasOf([{ to: uniswap.router, value: 0n, data }])
    const guarded = await node().estimateGas({ account: owner.address, to: owner.address, data: batch(guard, data) })
    expect(guarded - plain).toBeGreaterThan(BigInt(guard.gas) / 3n)
    expect(guarded - plain).toBeLessThan((BigInt(guard.gas) * 11n) / 10n)
  })

  it('reverts with NotOpened if it was not opened, and with AllowanceAbove if a new allowance exceeds its bound', async () => {
    const reasonOf = async (calls: object[]) => {
      const data = encodeFunctionData({ abi: batchAbi, functionName: 'execute', args: [calls] })
      const error = await node()
        .call({ account: owner.address, to: owner.address, data })
        .catch((failed) => failed)
      const { data: reason } = error.walk((cause: { data?: Hex }) => typeof cause.data === 'string')
      return decodeErrorResult({ abi: guardAbi, data: reason }).errorName
    }
    const token = uniswap.token0
    const bound = { token, spender: THIEF as Address, least: 5n }
    const of = (functionName: 'open' | 'close') => ({
      ...{ to: OUTCOME_GUARD, value: 0n },
      data: encodeFunctionData({ abi: guardAbi, functionName, args: [[bound]] } as never),
    })
    const approve = (amount: bigint) => ({
      ...{ to: token, value: 0n },
      data: encodeFunctionData({ abi: testTokenAbi, functionName: 'approve', args: [THIEF, amount] }),
    })
    expect(await reasonOf([of('close')])).toBe('NotOpened')
    expect(await reasonOf([of('open'), approve(6n), of('close')])).toBe('AllowanceAbove')
    const data = encodeFunctionData({
      abi: batchAbi,
      functionName: 'execute',
      args: [[of('open'), approve(5n), of('close')]],
    })
    await expect(node().call({ account: owner.address, to: owner.address, data })).resolves.toBeDefined()
  })

  it(`reverts every batch whose state was switched to exceed its bounds: ${STATES} states`, async () => {
    const kinds = Object.entries(SWITCHES)
    let refused = 0
    for (const at of NUMBERS) {
      const id = await node().snapshot()
      const data = swap(amountOf(at))
      const guard = await guardOf({ from: owner.address, to: uniswap.router, input: data })
      const [kind, change] = kinds[at % kinds.length]!
      await change()
      const before = await balances()
      const succeeded = await sent(owner, owner.address, batch(guard, data))
      const after = await balances()
      for (const [index, token] of [uniswap.token0, uniswap.token1].entries()) {
        const bound = guard.bounds.find((one) => one.token === token.toLowerCase() && one.least !== undefined)!
        const least = bound.least!.startsWith('-') ? -BigInt(bound.least!.slice(1)) : BigInt(bound.least!)
        const isBeyond = succeeded && after[index]! - before[index]! < least
        expect({ kind, isBeyond }).toEqual({ kind, isBeyond: false })
      }
      if (!succeeded) refused += 1
      await node().revert({ id })
    }
    // The switched contract takes what is sold and gives nothing for it, so every kind must be refused.
    expect(refused).toBe(STATES)
  }, 600_000)

  it(`lets at least 99% of honest swaps through: ${STATES} of them`, async () => {
    let refused = 0
    for (const at of NUMBERS) {
      const id = await node().snapshot()
      const data = swap(amountOf(at))
      const guard = await guardOf({ from: owner.address, to: uniswap.router, input: data })
      // Moves the price by up to half a percent.
      await sent(trader, uniswap.router, swap(parseEther('1') * BigInt((at * 331) % 2_400) + 1n, trader.address))
      if (!(await sent(owner, owner.address, batch(guard, data)))) refused += 1
      await node().revert({ id })
    }
    expect(refused).toBeLessThanOrEqual(STATES / 100)
  }, 600_000)
})
