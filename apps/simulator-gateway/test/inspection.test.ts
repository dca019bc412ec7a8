import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway, startGatewayProcess } from './gateway-process.js'
import { startGenesisUpstream } from './genesis-upstream.js'

const OWNER = '0xa000000000000000000000000000000000000000'
const FRIEND = '0xf000000000000000000000000000000000000001'
const TOKEN = '0x7000000000000000000000000000000000000001'
const LIAR = '0x7000000000000000000000000000000000000002'
const REVERTS = '0x7000000000000000000000000000000000000003'
const OUTER = '0x7000000000000000000000000000000000000004'
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const word = (value: bigint | string) => BigInt(value).toString(16).padStart(64, '0')
const TOLD = `4 CALLDATALOAD CALLER ${BigInt(TRANSFER)} 32 0 LOG3 STOP`
const BALANCE_OF =
  'CALLDATASIZE 36 EQ >balanceOf JUMPI CALLDATASIZE 68 EQ >transfer JUMPI 0 0 REVERT @balanceOf 4 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN'
/** `balanceOf` and `transfer`; the slot of an account's address holds its balance. */
const HONEST = assemble(`${BALANCE_OF} @transfer 36 CALLDATALOAD 0 MSTORE
  36 CALLDATALOAD CALLER SLOAD SUB CALLER SSTORE
  36 CALLDATALOAD 4 CALLDATALOAD SLOAD ADD 4 CALLDATALOAD SSTORE ${TOLD}`)
/** Emits a transfer and does nothing. */
const LYING = assemble(`${BALANCE_OF} @transfer 36 CALLDATALOAD 0 MSTORE ${TOLD}`)
/** Error("no") */
const NO = `0x08c379a0${word(32n)}${word(2n)}${'6e6f'.padEnd(64, '0')}`
const transfer = (to: string, amount: bigint) => `0xa9059cbb${word(to)}${word(amount)}`

const STATE = {
  [OWNER]: { balance: '0xde0b6b3a7640000' },
  [TOKEN]: { code: HONEST, stateDiff: { [`0x${word(OWNER)}`]: `0x${word(1_000n)}` } },
  [LIAR]: { code: LYING },
  [REVERTS]: { code: revertWith(NO) },
}

let upstream: Awaited<ReturnType<typeof startGenesisUpstream>>
let gateway: GatewayProcess

beforeAll(async () => {
  upstream = await startGenesisUpstream()
  gateway = await startGateway({ UPSTREAM_RPC_URL: upstream.url, DIALECT: 'ethereum' })
})

afterAll(async () => {
  await gateway?.stop()
  upstream?.close()
})

/** Code that reverts with these bytes: PUSH, CODECOPY, REVERT. */
function revertWith(data: string): string {
  const size = (data.length - 2) / 2
  return `0x60${size.toString(16).padStart(2, '0')}80600b6000396000fd${data.slice(2)}`
}

async function ask(method: string, params: unknown[]) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(gateway.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  // biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
  return (await response.json()) as { result?: any; error?: { code: number; message: string } }
}

describe('debug_traceCall', () => {
  const call = { from: OWNER, to: TOKEN, input: transfer(FRIEND, 7n), gas: '0x30000' }

  it('callTracer returns frames with their logs', async () => {
    const config = { tracer: 'callTracer', tracerConfig: { withLog: true }, stateOverrides: STATE }
    const { result } = await ask('debug_traceCall', [call, 'latest', config])
    expect(result).toMatchObject({ type: 'CALL', from: OWNER, to: TOKEN, gas: '0x30000', value: '0x0' })
    expect(result.logs).toEqual([
      {
        address: TOKEN,
        topics: [TRANSFER, `0x${word(OWNER)}`, `0x${word(FRIEND)}`],
        data: `0x${word(7n)}`,
        index: '0x0',
        position: '0x0',
      },
    ])
    expect(result.calls).toBeUndefined()
    expect(result.error).toBeUndefined()
  })

  it('callTracer returns the revert reason of a frame', async () => {
    const config = { tracer: 'callTracer', stateOverrides: STATE }
    const { result } = await ask('debug_traceCall', [{ to: REVERTS }, 'latest', config])
    expect(result).toMatchObject({ error: 'execution reverted', revertReason: 'no', output: NO })
  })

  it('prestateTracer returns the state before and after with diffMode', async () => {
    const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true }, stateOverrides: STATE }
    const { result } = await ask('debug_traceCall', [call, 'latest', config])
    expect(result.pre[TOKEN].storage).toEqual({ [`0x${word(OWNER)}`]: `0x${word(1_000n)}` })
    expect(result.post[TOKEN].storage).toEqual({
      [`0x${word(OWNER)}`]: `0x${word(993n)}`,
      [`0x${word(FRIEND)}`]: `0x${word(7n)}`,
    })
  })

  it('4byteTracer counts selectors', async () => {
    const { result } = await ask('debug_traceCall', [call, 'latest', { tracer: '4byteTracer', stateOverrides: STATE }])
    expect(result).toEqual({ '0xa9059cbb-64': 1 })
  })

  it('returns every instruction if no tracer is named', async () => {
    const { result } = await ask('debug_traceCall', [call, 'latest', { stateOverrides: STATE }])
    expect(result).toMatchObject({ failed: false, returnValue: '0x' })
    expect(result.structLogs[0]).toEqual({
      pc: 0,
      op: 'CALLDATASIZE',
      gas: expect.any(Number),
      gasCost: 2,
      depth: 1,
      stack: [],
    })
    expect(result.structLogs.at(-1)).toMatchObject({ op: 'STOP', gasCost: 0 })
    const stored = result.structLogs.findLast(({ op }: { op: string }) => op === 'SSTORE')
    expect(Object.keys(stored.storage)).toHaveLength(2)
  })

  it('limit: ends structLogs with the step that exceeds it', async () => {
    const limit = 1_000
    const { result } = await ask('debug_traceCall', [call, 'latest', { stateOverrides: STATE, limit }])
    const bytes = result.structLogs.map((step: object) => JSON.stringify(step).length)
    const sum = (lengths: number[]) => lengths.reduce((a, b) => a + b, 0)
    expect(sum(bytes)).toBeGreaterThan(limit)
    expect(sum(bytes.slice(0, -1))).toBeLessThanOrEqual(limit)
  })

  it('rejects more steps than an answer may have, unless limit is set', async () => {
    const stateOverrides = { [TOKEN]: { code: assemble('@again >again JUMP') } }
    const endless = { to: TOKEN, gas: '0x200000' }
    const { error } = await ask('debug_traceCall', [endless, 'latest', { stateOverrides }])
    expect(error).toMatchObject({ code: -32005, message: expect.stringContaining(String(16 * 1024 * 1024)) })
    const { result } = await ask('debug_traceCall', [endless, 'latest', { stateOverrides, limit: 200 }])
    expect(result).toMatchObject({ failed: true, returnValue: '0x' })
    expect(result.structLogs.length).toBeLessThan(10)
  })

  it.each([
    [[call, 'latest', { tracer: 'jsTracer' }], /params\[2\]\.tracer: expected one of callTracer/],
    [[call, 'latest', { limit: -1 }], /params\[2\]\.limit/],
    [[call, 'latest', { enableMemory: 'yes' }], /params\[2\]\.enableMemory/],
    [[call, 'latest', { enableMemmory: true }], /did you mean `enableMemory`/],
    [[call, 'latest', { overrides: { pragueTime: 1 } }], /params\[2\]\.overrides/],
    [[call, 'latest', { tracer: 'callTracer', tracerConfig: { withLog: 1 } }], /params\[2\]\.tracerConfig\.withLog/],
    [[call, 'latest', { tracer: 'callTracer', txIndex: 'x' }], /params\[2\]\.txIndex/],
    [[{ ...call, gas: 'lots' }, 'latest', { tracer: 'callTracer' }], /params\[0\]\.gas/],
    [[call, 'latest', { tracer: 'muxTracer', tracerConfig: { foo: {} } }], /tracerConfig: "foo" cannot be part of/],
    [[call, 'latest', { tracer: 'muxTracer', tracerConfig: { muxTracer: {} } }], /"muxTracer" cannot be part of/],
    [
      [call, 'latest', { tracer: 'muxTracer', tracerConfig: { callTracer: { withLog: 1 } } }],
      /tracerConfig\.callTracer\.withLog/,
    ],
  ])('rejects %j and names the field', async (params, message) => {
    const { error } = await ask('debug_traceCall', params)
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) })
  })

  it('rejects a trace longer than an answer may be (-32005)', async () => {
    // Calls itself until the gas is used up, each time with longer input.
    const code = assemble('@again 0 0 20000 0 0 ADDRESS 700 CALL POP >again JUMP')
    const config = { tracer: 'callTracer', stateOverrides: { [TOKEN]: { code } } }
    const { error } = await ask('debug_traceCall', [{ to: TOKEN }, 'latest', config])
    expect(error).toMatchObject({ code: -32005 })
  })
})

describe('eth_createAccessList', () => {
  it('rejects gasPrice together with authorizationList, unlike other methods', async () => {
    const signed = { chainId: '0x0', address: FRIEND, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }
    const call = { from: OWNER, to: FRIEND, authorizationList: [signed] }
    const refused = { code: -32000, message: 'both gasPrice and authorizationList specified' }
    const { error } = await ask('eth_createAccessList', [{ ...call, gasPrice: '0x1' }, 'latest'])
    expect(error).toEqual(refused)
    for (const [method, params] of [
      ['eth_createAccessList', [call, 'latest']],
      ['debug_traceCall', [{ ...call, gasPrice: '0x1' }, 'latest', { tracer: 'callTracer' }]],
    ] as const)
      expect((await ask(method, [...params])).error?.message).not.toBe(refused.message)
  })

  it('rejects a call that reads a slot without an access list, but not with the list that has it', async () => {
    // JUMPDEST 20 times, PUSH0 SLOAD
    const overrides = { [OUTER]: { code: `0x${'5b'.repeat(20)}5f54` } }
    const listed = async (gas: number) =>
      ask('eth_createAccessList', [{ to: OUTER, gas: `0x${gas.toString(16)}` }, 'latest', overrides])
    // The list costs 4,300 gas; with it, reading the slot costs 100.
    const withList = 21_000 + 4_300
    expect((await listed(withList + 122)).result.accessList).toHaveLength(1)
    const message = expect.stringContaining('no access list found')
    expect((await listed(withList + 10)).error).toEqual({ code: -32000, message })
  })

  it('rejects a loop over slots that ends with its gas, in 512 MiB of memory', async () => {
    const small = await startGatewayProcess({ UPSTREAM_RPC_URL: upstream.url, MEMORY_LIMIT_BYTES: `${2 ** 29}` })
    try {
      // PUSH0, JUMPDEST DUP1 SLOAD POP PUSH1 1 ADD PUSH1 1 JUMP
      const params = [
        { to: OUTER, gas: '0x989680' },
        'latest',
        { [OUTER]: { code: '0x5f5b8054506001016001560000', state: {} } },
      ]
      for (let time = 0; time < 2; time++) {
        // The longer the list, the fewer slots there is gas for: it never converges.
        const { error } = await small.call('eth_createAccessList', params)
        expect(error).toEqual({ code: -32000, message: expect.stringContaining('no access list found') })
      }
      expect(await small.metric('upfront_held_bytes')).toBeLessThan(1_000_000)
    } finally {
      await small.stop()
    }
  })
})

describe('upfront_simulate', () => {
  it('answers like eth_simulateV1 if no option is set', async () => {
    const payload = { blockStateCalls: [{ stateOverrides: STATE, calls: [{ from: OWNER, to: FRIEND, value: '0x1' }] }] }
    const [plain, inspected] = await Promise.all([
      ask('eth_simulateV1', [payload, 'latest']),
      ask('upfront_simulate', [payload, 'latest']),
    ])
    expect(inspected).toEqual(plain)
  })

  it('rejects a trace of more than 4 MiB, and simulates the same without it', async () => {
    const stateOverrides = { [FRIEND]: { code: assemble('1048576 0 RETURN') } }
    const payload = { blockStateCalls: [{ stateOverrides, calls: Array(3).fill({ to: FRIEND }) }] }
    const { error } = await ask('upfront_simulate', [{ ...payload, trace: true }, 'latest'])
    expect(error).toEqual({ code: -32005, message: expect.stringContaining(String(4 * 1024 * 1024)) })
    expect((await ask('upfront_simulate', [payload, 'latest'])).result[0].calls).toHaveLength(3)
  })

  it('returns traces, state diffs and access lists by call and block', async () => {
    const calls = [7n, 8n].map((amount) => ({ from: OWNER, to: TOKEN, input: transfer(FRIEND, amount) }))
    const payload = {
      blockStateCalls: [{ stateOverrides: STATE, calls }],
      trace: true,
      stateDiff: true,
      accessLists: true,
    }
    const { result } = await ask('upfront_simulate', [payload, 'latest'])
    const [block] = result
    const slot = (account: string) => `0x${word(account)}`
    expect(block.calls.map(({ trace }: { trace: { logs: { index: string }[] } }) => trace.logs[0]!.index)).toEqual([
      '0x0',
      '0x1',
    ])
    expect(block.calls[1].stateDiff[TOKEN].storage[slot(OWNER)]).toEqual({
      from: `0x${word(993n)}`,
      to: `0x${word(985n)}`,
    })
    expect(block.stateDiff[TOKEN].storage[slot(OWNER)]).toEqual({ from: `0x${word(1_000n)}`, to: `0x${word(985n)}` })
    expect(block.stateDiff[OWNER].nonce).toMatchObject({ to: expect.any(String) })
    const steps = { ...payload, trace: { tracer: 'structLogger', tracerConfig: { disableStack: true } } }
    const { result: stepped } = await ask('upfront_simulate', [steps, 'latest'])
    expect(stepped[0].calls[1].trace.structLogs.at(-1)).toMatchObject({ op: 'STOP', depth: 1 })
    expect(block.calls[0].accessList).toEqual([{ address: TOKEN, storageKeys: [slot(OWNER), slot(FRIEND)].sort() }])
  })

  it('returns asset changes and marks the token whose logs contradict its balances', async () => {
    const input = transfer(FRIEND, 7n)
    const calls = [
      { from: OWNER, to: TOKEN, input },
      { from: OWNER, to: LIAR, input },
      { from: OWNER, to: FRIEND, value: '0x5' },
    ]
    const payload = { blockStateCalls: [{ stateOverrides: STATE, calls }], assetChanges: true }
    const { result } = await ask('upfront_simulate', [payload, 'latest'])
    const [honest, lying, native] = result[0].calls.map(({ assetChanges }: { assetChanges: unknown }) => assetChanges)
    const told = { type: 'erc20', from: OWNER, to: FRIEND, amount: '0x7' }
    expect(honest.transfers).toMatchObject([{ ...told, address: TOKEN }])
    expect(honest.balances).toMatchObject([
      { account: OWNER, before: '0x3e8', after: '0x3e1', transferred: '-0x7', confirmation: 'agrees' },
      { account: FRIEND, before: '0x0', after: '0x7', transferred: '0x7', confirmation: 'agrees' },
    ])
    expect(lying.transfers).toMatchObject([{ ...told, address: LIAR }])
    expect(lying.balances.map(({ confirmation }: { confirmation: string }) => confirmation)).toEqual([
      'disagrees',
      'disagrees',
    ])
    expect(native.transfers).toEqual([{ type: 'native', from: OWNER, to: FRIEND, amount: '0x5' }])
    expect(native.balances).toMatchObject([
      { account: OWNER, transferred: '-0x5' },
      { account: FRIEND, transferred: '0x5' },
    ])
  })

  it('gasLimits: finds the gas that a bundle needs even if an inner call hides that it ran out', async () => {
    // Calls the token with all gas and ignores the result.
    const outer = assemble(
      `${BigInt(`0xa9059cbb${'00'.repeat(28)}`)} 0 MSTORE ${BigInt(FRIEND)} 4 MSTORE 1 36 MSTORE 0 0 68 0 0 ${BigInt(TOKEN)} GAS CALL POP STOP`,
    )
    const stateOverrides = {
      ...STATE,
      [OUTER]: { code: outer },
      [TOKEN]: { code: HONEST, stateDiff: { [`0x${word(OUTER)}`]: `0x${word(1_000n)}` } },
    }
    const calls = [
      { from: OWNER, to: OUTER },
      { from: OWNER, to: FRIEND, value: '0x1' },
    ]
    const bundle = (changed: object[]) => ({
      blockStateCalls: [{ stateOverrides, calls: changed }],
      gasLimits: true,
      trace: true,
    })
    const { result } = await ask('upfront_simulate', [bundle(calls), 'latest'])
    const [first, second] = result[0].calls
    expect(BigInt(first.gasLimit)).toBeGreaterThan(BigInt(first.maxUsedGas))
    expect(second.gasLimit).toBe('0x5208')
    const logsWith = async (gas: bigint) => {
      const given = [{ ...calls[0], gas: `0x${gas.toString(16)}` }, calls[1]!]
      const { result: again } = await ask('upfront_simulate', [{ ...bundle(given), gasLimits: false }, 'latest'])
      return again[0].calls[0].trace.calls?.[0]?.logs?.length
    }
    expect(await logsWith(BigInt(first.gasLimit))).toBe(1)
    expect(await logsWith(BigInt(first.gasLimit) - 1n)).toBeUndefined()
  })

  it('abi: decodes calls, logs and errors by the ABI of the request', async () => {
    const abi = [
      {
        type: 'function',
        name: 'transfer',
        inputs: [
          { name: 'to', type: 'address' },
          { name: 'amount', type: 'uint256' },
        ],
      },
      {
        type: 'event',
        name: 'Transfer',
        inputs: [
          { name: 'from', type: 'address', indexed: true },
          { name: 'to', type: 'address', indexed: true },
          { name: 'amount', type: 'uint256' },
        ],
      },
    ]
    const calls = [{ from: OWNER, to: TOKEN, input: transfer(FRIEND, 7n) }, { to: REVERTS }]
    const { result } = await ask('upfront_simulate', [
      { blockStateCalls: [{ stateOverrides: STATE, calls }], abi },
      'latest',
    ])
    const [moved, reverted] = result[0].calls.map(({ decoded }: { decoded: unknown }) => decoded)
    expect(moved.call).toMatchObject({ name: 'transfer', args: { amount: '7' } })
    expect(moved.logs).toMatchObject([{ name: 'Transfer', args: { amount: '7' } }])
    expect(reverted).toEqual({ error: { name: 'Error', args: { message: 'no' } }, logs: [] })
  })

  it('abi: rejects decoded data longer than 4 MiB, whatever offsets it has', async () => {
    const level = word(20n) + word(20n * 32n).repeat(20)
    const input = `0x${word(32n)}${level.repeat(4)}${word(20n)}${word(1n).repeat(20)}`
    const topic = '0x09aae69664614ad1573e713fd5a3495df34b001ed179722ecda7c67e0573c04d'
    // CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH32 topic CALLDATASIZE PUSH0 LOG1
    const code = `0x365f5f377f${topic.slice(2)}365fa100`
    const abi = [{ type: 'event', name: 'E', inputs: [{ type: 'uint256[][][][][]', name: 'deep' }] }]
    const blockStateCalls = [{ stateOverrides: { [OUTER]: { code } }, calls: [{ to: OUTER, input }] }]
    const { error } = await ask('upfront_simulate', [{ blockStateCalls, abi }, 'latest'])
    expect(error).toEqual({ code: -32005, message: 'abi: the decoded values are longer than 4194304 bytes' })
  })

  it.each([
    [{ abi: [{ name: 'f' }] }, /abi\[0\]\.type/],
    [{ abi: [{ type: 'function', name: 'f', inputs: 1 }] }, /abi\[0\]/],
    [{ gasLimits: 1 }, /gasLimits/],
    [{ trace: 'yes' }, /trace/],
    [{ trace: { tracer: 'x' } }, /trace\.tracer/],
    [{ stateDiff: 'yes' }, /stateDiff/],
    [{ assetChanges: {} }, /assetChanges/],
  ])('rejects %j and names the field', async (fields, message) => {
    const { error } = await ask('upfront_simulate', [{ blockStateCalls: [{ calls: [{}] }], ...fields }, 'latest'])
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(message) })
  })
})

describe('link', () => {
  const payload = { blockStateCalls: [{ calls: [{ from: OWNER, to: FRIEND }] }], validation: false }
  const linked = async (more: object) => (await ask('upfront_simulate', [{ ...payload, ...more }, 'latest'])).result

  it('is returned if requested, and repeats the request on the same block', async () => {
    for (const shown of [{}, { trace: true, decode: true }]) {
      const { link } = (await linked({ link: true, ...shown }))[0]
      const [path, fragment] = link.split('#')
      const [again, block] = JSON.parse(decodeURIComponent(fragment))
      expect([path, again]).toEqual(['/console/', payload])
      expect(block.blockHash).toMatch(/^0x[0-9a-f]{64}$/)
      expect((await ask('upfront_simulate', [again, block])).result).toEqual(await linked({}))
    }
    expect((await linked({}))[0].link).toBeUndefined()
  })

  it('is omitted if it would be too long', async () => {
    const input = `0x${'00'.repeat(40_000)}`
    expect(
      (await linked({ link: true, blockStateCalls: [{ calls: [{ to: FRIEND, input }] }] }))[0].link,
    ).toBeUndefined()
  })
})
