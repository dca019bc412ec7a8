import { encodeFunctionData, erc20Abi, type Hex, parseAbi, parseEther, parseEventLogs, toHex } from 'viem'
import { entryPoint07Abi } from 'viem/account-abstraction'
import { assemble } from './assemble.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'
import {
  ACCOUNT_ABI,
  accountArtifact,
  type ChainStand,
  deployEntryPoint,
  deployer,
  startChain,
  VERSIONS,
} from './user-operation-stand.js'

// User operations on EntryPoints from their own package, compared with their execution on chain.

const FRIEND = `0xf0${'0'.repeat(37)}1` as const

let chain: ChainStand
let gateway: GatewayProcess

beforeAll(async () => {
  chain = await startChain()
  // Blocks are asked for as soon as they are mined: the gateway must not guess when the next one is due.
  gateway = await startGateway({ UPSTREAM_RPC_URL: chain.anvil.rpcUrl, DIALECT: 'ethereum', FOLLOW_HEAD: 'off' })
})

afterAll(async () => {
  await gateway?.stop()
  await chain?.anvil.stop()
})

/** Quantities as JSON-RPC has them. */
const wire = (operation: object) =>
  Object.fromEntries(
    Object.entries(operation).map(([name, value]) => [name, typeof value === 'bigint' ? toHex(value) : value]),
  )

// biome-ignore lint/suspicious/noExplicitAny: what comes is what is tested.
async function simulate(userOperation: object, entryPoint: string, more: object = {}): Promise<any> {
  const payload = { userOperation: wire(userOperation), entryPoint, ...more }
  const { result, error } = await gateway.call('upfront_simulateUserOperation', [payload, 'latest'])
  expect(error).toBeUndefined()
  return result
}

const send = (value: bigint) =>
  encodeFunctionData({ abi: ACCOUNT_ABI, functionName: 'execute', args: [FRIEND, value, '0x'] })
const fees = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
const gas = { verificationGasLimit: 300_000n, callGasLimit: 200_000n, preVerificationGas: 60_000n }

describe.each(VERSIONS)('user operations on EntryPoint v%s', (version) => {
  let stand: Awaited<ReturnType<typeof deployEntryPoint>>
  let sender: Hex
  const operation = async (fields: object = {}) => {
    const nonce = await chain.node.readContract({
      address: stand.entryPoint,
      abi: entryPoint07Abi,
      functionName: 'getNonce',
      args: [sender, 0n],
    })
    return { sender, nonce, callData: send(5n), ...fees, ...gas, ...fields }
  }

  beforeAll(async () => {
    stand = await deployEntryPoint(chain, version)
    sender = await stand.create(0n)
  })

  it('are validated and executed separately, as the chain then does', async () => {
    const signed = await stand.signed(await operation())
    const shown = await simulate(signed, stand.entryPoint, { assetChanges: true })
    expect(shown).toMatchObject({
      ...{ status: '0x1', entryPoint: stand.entryPoint, brokenRules: [] },
      validation: { status: '0x1', signature: 'valid' },
      execution: { status: '0x1', transfers: [{ type: 'native', from: sender, to: FRIEND, amount: '0x5' }] },
      transaction: { status: '0x1' },
    })
    expect(shown.validation.assumed).toBeUndefined()
    const { logs, blockNumber } = await stand.bundle(signed)
    const [event] = parseEventLogs({ abi: entryPoint07Abi, logs, eventName: 'UserOperationEvent' })
    expect(event!.args).toMatchObject({ success: true, userOpHash: shown.userOpHash })
    expect(toHex(event!.args.actualGasUsed)).toBe(shown.actualGasUsed)
    // Before its bundle, and after it.
    const calls = [{ userOperation: wire(signed), entryPoint: stand.entryPoint }]
    const swept = [{ blockStateCalls: [{ calls }], positions: 'all' }, toHex(blockNumber)]
    expect((await gateway.call('upfront_simulate', swept)).result).toMatchObject([
      { status: '0x1', userOperation: { status: '0x1', userOpHash: shown.userOpHash } },
      { status: '0x0', userOperation: { status: '0x0' } },
    ])
  })

  it('are simulated with an assumed signature if theirs is missing or wrong, and say so', async () => {
    const unsigned = await simulate(await operation(), stand.entryPoint)
    expect(unsigned).toMatchObject({
      status: '0x1',
      validation: { status: '0x1', signature: 'missing', assumed: 'signature' },
      execution: { status: '0x1' },
    })
    expect(BigInt(unsigned.actualGasCost)).toBeGreaterThan(0n)
    const other = await stand.signed(await operation({ callData: send(6n) }))
    const wrong = await simulate({ ...other, callData: send(7n) }, stand.entryPoint)
    expect(wrong).toMatchObject({ status: '0x1', validation: { signature: 'invalid', assumed: 'signature' } })
    // Some accounts revert on a malformed signature.
    const short = await simulate(await operation({ signature: '0x1234' }), stand.entryPoint)
    if (version === '0.7') expect(short).toMatchObject({ status: '0x0', validation: { status: '0x0' } })
    expect(short.validation.signature).not.toBe('missing')
  })

  it('create an account that does not exist yet, packed or unpacked', async () => {
    const sender = await stand.accountOf(9n)
    const factory = { factory: stand.factory, factoryData: stand.createCall(9n) }
    const fresh = { ...(await operation()), sender, nonce: 0n, callData: send(1n), ...factory }
    const rich = { stateOverrides: { [sender]: { balance: toHex(parseEther('3')) } }, stateDiff: true }
    const shown = await simulate(fresh, stand.entryPoint, rich)
    expect(shown).toMatchObject({ status: '0x1', validation: { signature: 'missing' }, execution: { status: '0x1' } })
    expect(shown.transaction.stateDiff[sender].code.from).toBe('0x')
    const { signature: _, ...packed } = stand.packedOf(fresh as never)
    expect(await simulate(packed, stand.entryPoint, rich)).toEqual(shown)
    // The factory writes outside the account; SimpleAccountFactory has no stake.
    expect(new Set(shown.brokenRules.map(({ entity }: { entity: string }) => entity))).not.toContain('paymaster')
  })

  it('get gasLimits that suffice, while slightly lower ones do not', async () => {
    const { callGasLimit: _, verificationGasLimit: __, ...open } = await operation({ callData: send(11n) })
    const { gasLimits } = await simulate({ ...open, preVerificationGas: 0n }, stand.entryPoint, { gasLimits: true })
    const found = {
      verificationGasLimit: BigInt(gasLimits.verificationGasLimit),
      callGasLimit: BigInt(gasLimits.callGasLimit),
      preVerificationGas: BigInt(gasLimits.preVerificationGas),
    }
    const tight = { ...open, ...found }
    // The signature's stand-in takes gas too, and validation gets the margin that bundlers expect.
    const [call, verification] = [tight.callGasLimit - 4_000n, tight.verificationGasLimit / 3n]
    for (const less of [{ callGasLimit: call }, { verificationGasLimit: verification }])
      expect(await simulate(await stand.signed({ ...tight, ...less }), stand.entryPoint)).toMatchObject({
        status: '0x0',
      })
    expect(await simulate(await stand.signed(tight), stand.entryPoint)).toMatchObject({ status: '0x1' })
    const { logs, status, gasUsed } = await stand.bundle(await stand.signed(tight))
    const [event] = parseEventLogs({ abi: entryPoint07Abi, logs, eventName: 'UserOperationEvent' })
    expect({ status, success: event!.args.success }).toEqual({ status: 'success', success: true })
    // The EntryPoint's charge covers the bundle.
    expect(event!.args.actualGasUsed).toBeGreaterThanOrEqual(gasUsed - 3_000n)
  })

  it('report why the execution fails and why the EntryPoint refuses them', async () => {
    const failing = await simulate(await operation({ callData: send(parseEther('5')) }), stand.entryPoint)
    expect(failing).toMatchObject({ status: '0x0', execution: { status: '0x0' }, transaction: { status: '0x1' } })
    expect(failing.refusal).toBeUndefined()
    const used = await simulate({ ...(await operation()), nonce: 77n }, stand.entryPoint)
    expect(used).toMatchObject({ status: '0x0', refusal: 'AA25 invalid account nonce' })
    const poor = { stateOverrides: { [sender]: { balance: '0x0' } } }
    expect((await simulate(await operation(), stand.entryPoint, poor)).refusal).toMatch(/^AA2[13] /)
    const absent = { ...(await operation()), sender: FRIEND, nonce: 0n }
    // v0.7 reverts without a reason.
    const words = version === '0.7' ? 'execution reverted' : 'AA20 account not deployed'
    expect((await simulate(absent, stand.entryPoint)).refusal).toBe(words)
  })

  it('report the ERC-7562 rules that their validation breaks', async () => {
    const STORE = `0x57${'0'.repeat(37)}1` as const
    // TIMESTAMP and GAS, a foreign slot, an address without code; then it pays nothing and answers 0.
    const code = assemble(
      `TIMESTAMP POP GAS POP 0 0 0 0 0 ${BigInt(STORE)} 100000 CALL POP 0 0 0 0 0 9999 50000 CALL POP 0 0 MSTORE 32 0 RETURN`,
    )
    const overrides = {
      [FRIEND]: { code },
      [STORE]: { code: assemble('7 SLOAD POP 1 8 SSTORE STOP') },
    }
    const odd = {
      ...(await operation()),
      sender: FRIEND,
      nonce: 0n,
      callData: '0x',
      maxFeePerGas: 0n,
      maxPriorityFeePerGas: 0n,
    }
    const { brokenRules } = await simulate(odd, stand.entryPoint, { stateOverrides: overrides })
    const said = brokenRules.map(({ rule, contract, what }: Record<string, string>) => [rule, contract, what])
    expect(said).toEqual([
      ['OP-011', FRIEND, 'TIMESTAMP'],
      ['OP-012', FRIEND, 'GAS'],
      ['OP-041', FRIEND, `0x${9999n.toString(16).padStart(40, '0')}`],
      ['STO-033', STORE, toHex(7n, { size: 32 })],
      ['STO-033', STORE, toHex(8n, { size: 32 })],
    ])
  })
})

it('reports a paymaster separately and assumes its signature', async () => {
  const stand = await deployEntryPoint(chain, '0.7')
  const sender = await stand.create(1n)
  const verifying = accountArtifact('0.7', 'VerifyingPaymaster')
  const paymaster = await chain.deploy(verifying, [stand.entryPoint, deployer.address])
  const abi = parseAbi(['function depositTo(address) payable'])
  await chain.mined(
    await chain.wallet.writeContract({
      ...{ address: stand.entryPoint, abi, functionName: 'depositTo', args: [paymaster], value: parseEther('1') },
    }),
  )
  const data = `0x${'ff'.repeat(5).padStart(64, '0')}${'0'.padStart(64, '0')}${'f'.repeat(31)}${'0'.repeat(33)}7${'a'.repeat(63)}1c`
  const sponsored = {
    ...{ sender, nonce: 0n, callData: send(1n), ...fees, ...gas, paymaster, paymasterData: data },
    ...{ paymasterVerificationGasLimit: 100_000n, paymasterPostOpGasLimit: 0n },
  }
  const shown = await simulate(sponsored, stand.entryPoint, { gasLimits: true })
  expect(shown).toMatchObject({
    status: '0x1',
    validation: { signature: 'missing' },
    paymaster: { address: paymaster, status: '0x1', signature: 'invalid', assumed: 'signature' },
  })
  expect(Object.keys(shown.gasLimits)).toContain('paymasterVerificationGasLimit')
  expect(shown.gasLimits.paymasterPostOpGasLimit).toBe('0x0')
})

it('rejects a malformed user operation and names the field', async () => {
  const refusal = async (payload: unknown) => (await gateway.call('upfront_simulateUserOperation', [payload])).error
  const whole = { sender: FRIEND, nonce: '0x0' }
  const at = { entryPoint: FRIEND }
  expect(await refusal({ userOperation: { ...whole, nonce: 5 }, ...at })).toMatchObject({
    code: -32602,
    message: 'params[0].userOperation.nonce: expected a hex quantity, got 5',
  })
  expect((await refusal({ userOperation: whole }))?.message).toMatch(/^params\[0\]\.entryPoint: expected an address/)
  expect((await refusal({ userOperation: { ...whole, gasFees: '0x', callGasLimit: '0x1' }, ...at }))?.message).toMatch(
    /^params\[0\]\.userOperation: `gasFees` is of the packed form, `callGasLimit` of the unpacked one/,
  )
  expect((await refusal({ userOperation: whole, ...at, x: 1 }))?.message).toMatch(/^params\[0\]\.x: unknown field/)
  expect((await refusal({ userOperation: { ...whole, colour: 1 }, ...at }))?.message).toMatch(/unknown field "colour"/)
  const { result } = (await gateway.call('upfront_simulateUserOperation', [{ userOperation: whole, ...at }])) as {
    result: { status: Hex; validation?: object }
  }
  expect(result).toMatchObject({ status: '0x0', refusal: 'no EntryPoint of v0.7 or later is at this address' })
  expect(result.validation).toBeUndefined()
})

it('upfront_simulate accepts user operations among its calls', async () => {
  const stand = await deployEntryPoint(chain, '0.7')
  const sender = await stand.create(2n)
  const operation = { userOperation: wire({ sender, nonce: 0n, callData: send(3n) }), entryPoint: stand.entryPoint }
  const next = { ...operation, userOperation: { ...operation.userOperation, nonce: '0x1' } }
  const balance = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [FRIEND] })
  const calls = [{ to: FRIEND, data: balance }, operation, next]
  const { result, error } = await gateway.call<{ calls: { status: Hex; userOperation?: { status: Hex } }[] }[]>(
    'upfront_simulate',
    [{ blockStateCalls: [{ calls }], validation: false }],
  )
  expect(error).toBeUndefined()
  expect(result![0]!.calls.map(({ userOperation }) => userOperation?.status)).toEqual([undefined, '0x1', '0x1'])
})
