import { encodeErrorResult, encodeEventTopics, encodeFunctionData, erc20Abi, type Hex, parseAbi } from 'viem'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import { type GenesisUpstream, startGenesisUpstream } from './genesis-upstream.js'

// Decoding of calls, errors and logs without an ABI: `decode: true` of upfront_simulate.

const TO = `0x70${'0'.repeat(37)}1` as const
const A = `0xa0${'0'.repeat(37)}1` as const
const B = `0xb0${'0'.repeat(37)}1` as const

let upstream: GenesisUpstream
let gateway: GatewayProcess

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'ethereum' })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

/** PUSH2 size, DUP1, PUSH1 offset, zero without PUSH0, CODECOPY, zero, then the given opcode. */
const endingWith = (data: Hex, opcode: 'f3' | 'fd') =>
  `0x61${((data.length - 2) / 2).toString(16).padStart(4, '0')}80600c6000396000${opcode}${data.slice(2)}`

async function decoded(input: Hex, code = '0x00', payload: object = {}) {
  const params = [
    {
      blockStateCalls: [{ stateOverrides: { [TO]: { code } }, calls: [{ from: A, to: TO, input }] }],
      decode: true,
      ...payload,
    },
    'latest',
  ]
  const { result, error } = await gateway.call('upfront_simulate', params)
  expect(error).toBeUndefined()
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  return (result as any)[0].calls[0]
}

it.each([
  ['transfer(address to, uint256 value)', 'ERC-20', 'function transfer(address,uint256)', [B, 5n]],
  [
    'safeTransferFrom(address from, address to, uint256 tokenId, bytes data)',
    'ERC-721',
    'function safeTransferFrom(address,address,uint256,bytes)',
    [A, B, 1n, '0x'],
  ],
  [
    'safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
    'ERC-1155',
    'function safeTransferFrom(address,address,uint256,uint256,bytes)',
    [A, B, 1n, 2n, '0x'],
  ],
  [
    'redeem(uint256 shares, address receiver, address owner)',
    'ERC-4626',
    'function redeem(uint256,address,address)',
    [1n, A, B],
  ],
  ['withdraw(uint256 wad)', 'WETH', 'function withdraw(uint256)', [1n]],
  [
    'approve(address token, address spender, uint160 amount, uint48 expiration)',
    'Permit2',
    'function approve(address,address,uint160,uint48)',
    [A, B, 1n, 2],
  ],
  [
    'swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)',
    'Uniswap V2 router',
    'function swapExactTokensForTokens(uint256,uint256,address[],address,uint256)',
    [1n, 2n, [A, B], A, 9n],
  ],
  [
    'exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)',
    'Uniswap V3 periphery',
    'function exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))',
    [[A, B, 500, A, 1n, 2n, 3n, 4n]],
  ],
  [
    'execute(bytes commands, bytes[] inputs, uint256 deadline)',
    'Uniswap UniversalRouter',
    'function execute(bytes,bytes[],uint256)',
    ['0x0b', ['0x'], 9n],
  ],
  [
    'execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
    'Safe',
    'function execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)',
    [A, 0n, '0x', 0, 0n, 0n, 0n, A, A, '0x'],
  ],
  ['multiSend(bytes transactions)', 'Safe', 'function multiSend(bytes)', ['0x00']],
  [
    'aggregate3((address target, bool allowFailure, bytes callData)[] calls)',
    'Multicall3',
    'function aggregate3((address,bool,bytes)[])',
    [[[A, true, '0x']]],
  ],
  [
    'handleOps((address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)[] ops, address beneficiary)',
    'ERC-4337 v0.8',
    'function handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)',
    [[], A],
  ],
])('decodes the call %s', async (signature, from, item, args) => {
  const input = encodeFunctionData({ abi: parseAbi([item] as never), args: args as never } as never)
  expect((await decoded(input)).decoded.call).toMatchObject({ signature, from })
})

it('lists the alternatives if calldata matches several signatures', async () => {
  const input = encodeFunctionData({ abi: erc20Abi, functionName: 'transferFrom', args: [A, B, 5n] })
  expect((await decoded(input)).decoded.call).toEqual({
    name: 'transferFrom',
    args: { from: A, to: B, value: '5' },
    signature: 'transferFrom(address from, address to, uint256 value)',
    from: 'ERC-20',
    or: ['transferFrom(address from, address to, uint256 tokenId) of ERC-721'],
  })
})

it.each([
  [
    'error ERC20InsufficientBalance(address,uint256,uint256)',
    [A, 0n, 25n],
    'ERC20InsufficientBalance: holds 0, needs 25',
  ],
  ['error OwnableUnauthorizedAccount(address)', [A], `OwnableUnauthorizedAccount: ${A} is not the owner`],
  ['error EnforcedPause()', [], 'EnforcedPause: is paused'],
  ['error CheckpointUnorderedInsertion()', [], 'CheckpointUnorderedInsertion'],
  [
    'error SafeCastOverflowedUintDowncast(uint8,uint256)',
    [8, 300n],
    'SafeCastOverflowedUintDowncast: bits 8, value 300',
  ],
  ['error FailedOp(uint256,string)', [0n, 'AA23 reverted'], 'FailedOp: operation 0: AA23 reverted'],
  ['error InvalidNonce()', [], 'InvalidNonce'],
] as const)('explains the error %s', async (item, args, meaning) => {
  const data = encodeErrorResult({ abi: parseAbi([item] as never), args: args as never } as never)
  const call = await decoded('0x', endingWith(data, 'fd'), { trace: true })
  expect(call.decoded.error.meaning).toBe(meaning)
  expect(call.trace.decoded.error.meaning).toBe(meaning)
  // In geth's words.
  expect(call.error.message).toMatch(/^execution reverted/)
})

it("decodes an error's amounts in the token’s decimals, through a proxy and a caller", async () => {
  const data = encodeErrorResult({
    abi: parseAbi(['error ERC20InsufficientBalance(address,uint256,uint256)']),
    args: [A, 25n, 1_500_000n],
  })
  const words = data
    .slice(10)
    .match(/.{64}/g)!
    .map((word) => BigInt(`0x${word}`))
  const store = words.map((word, at) => `${word} ${4 + 32 * at} MSTORE`).join(' ')
  // Returns six decimals to a call of a selector alone, otherwise the error.
  const logic = assemble(
    `CALLDATASIZE 4 EQ >decimals JUMPI ${BigInt(data.slice(0, 10)) << 224n} 0 MSTORE ${store} 100 0 REVERT @decimals 6 0 MSTORE 32 0 RETURN`,
  )
  const passOn = 'RETURNDATASIZE 0 0 RETURNDATACOPY'
  const forwards = `CALLDATASIZE 0 0 CALLDATACOPY 0 0 CALLDATASIZE 0 ${BigInt(B)} GAS DELEGATECALL >good JUMPI ${passOn} RETURNDATASIZE 0 REVERT @good ${passOn} RETURNDATASIZE 0 RETURN`
  const caller = assemble(`0 0 5 0 0 ${BigInt(TO)} GAS CALL POP ${passOn} RETURNDATASIZE 0 REVERT`)
  const stateOverrides = { [B]: { code: logic }, [TO]: { code: assemble(forwards) }, [A]: { code: caller } }
  const payload = { blockStateCalls: [{ stateOverrides, calls: [{ to: A }] }], decode: true, trace: true }
  const { result } = await gateway.call<{ calls: DecodedCall[] }[]>('upfront_simulate', [payload, 'latest'])
  const { decoded, trace } = result![0]!.calls[0]!
  const error = {
    args: { sender: A, balance: '25', needed: '1500000' },
    ...{ decimals: 6, meaning: 'ERC20InsufficientBalance: holds 0.000025, needs 1.5' },
  }
  expect(decoded.error).toMatchObject(error)
  expect(trace.calls![0]!.calls![0]!.decoded!.error).toMatchObject(error)
})

interface DecodedCall {
  decoded: { error?: object }
  trace: Frame
}
interface Frame {
  decoded?: { error?: object }
  calls?: Frame[]
}

it('decodes a log by its topics as ERC-20 or another token standard, in frames too', async () => {
  const topics = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer', args: { from: A, to: B } }) as Hex[]
  const push = (word: string) => `7f${word.slice(2).padStart(64, '0')}`
  const [topic, from, to] = topics as [Hex, Hex, Hex]
  const value = `${push('0x5')}600052`
  const three = `0x${value}${push(to)}${push(from)}${push(topic)}60206000a300`
  const four = `0x${push('0x5')}${push(to)}${push(from)}${push(topic)}60006000a400`
  const token = await decoded('0x', three, { trace: true })
  expect(token.decoded.logs).toEqual([
    {
      name: 'Transfer',
      args: { from: A, to: B, value: '5' },
      signature: 'Transfer(address from, address to, uint256 value)',
      from: 'ERC-20',
    },
  ])
  expect(token.trace.logs[0].decoded).toEqual(token.decoded.logs[0])
  const collectible = await decoded('0x', four)
  expect(collectible.decoded.logs[0]).toMatchObject({ args: { tokenId: '5' }, from: 'ERC-721' })
})

it('prefers the ABI of the request to known signatures', async () => {
  const abi = [
    {
      type: 'function',
      name: 'transfer',
      inputs: [
        { type: 'address', name: 'who' },
        { type: 'uint256', name: 'much' },
      ],
    },
  ]
  const input = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [B, 5n] })
  expect((await decoded(input, '0x00', { abi })).decoded.call).toEqual({
    name: 'transfer',
    args: { who: B, much: '5' },
  })
})

it('does not decode unknown selectors or malformed calldata', async () => {
  for (const input of ['0x', '0x12345678', '0xa9059cbb00'] as const)
    expect((await decoded(input)).decoded).toEqual({ logs: [] })
})
