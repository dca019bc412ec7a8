import { privateKeyToAccount } from 'viem/accounts'
import { EMPTY_BLOCK, EMPTY_CALL, EMPTY_DRAFT } from '../request/draft.js'
import { DraftError } from '../request/draft-error.js'
import { payloadOf } from '../request/payload.js'
import { pastedDraft } from './paste.js'

const ALICE = '0x00000000000000000000000000000000000a11ce'
const BOB = '0x0000000000000000000000000000000000000b0b'
const HASH = `0x${'ab'.repeat(32)}`
const CALLDATA = `0xa9059cbb${BOB.slice(2).padStart(64, '0')}${'1'.padStart(64, '0')}`
const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)

/** A node with these answers, by method. */
const paste = (text: unknown, answers: Record<string, unknown> = {}, draft = EMPTY_DRAFT) =>
  pastedDraft(typeof text === 'string' ? text : JSON.stringify(text), {
    ...{ chainId: 8453, draft },
    ask: async (method) => answers[method] as never,
  })
const callsOf = async (text: unknown, answers = {}) =>
  payloadOf((await paste(text, answers)).draft).blockStateCalls.flatMap(({ calls }) => calls)

describe('a pasted signed transaction', () => {
  const fields = { type: 'eip1559', chainId: 8453, gas: 25_000n, maxFeePerGas: 2n, maxPriorityFeePerGas: 1n } as const

  it('fills in all its fields, with validation', async () => {
    const signed = await account.signTransaction({ ...fields, nonce: 9999, to: BOB, value: 5n })
    const { kind, draft } = await paste(` ${signed}\n`)
    expect({ kind, validation: draft.validation }).toEqual({ kind: 'Signed transaction (eip1559)', validation: 'yes' })
    const gas = { gas: '0x61a8', nonce: '0x270f', maxFeePerGas: '0x2', maxPriorityFeePerGas: '0x1' }
    const [call] = await callsOf({ method: 'eth_sendRawTransaction', params: [signed] })
    expect(call).toEqual({ from: account.address, to: BOB, value: '0x5', ...gas })
  })

  it('keeps its authorizations', async () => {
    const authorization = await account.signAuthorization({ address: BOB, chainId: 8453, nonce: 1 })
    const whole = { ...fields, type: 'eip7702', to: BOB, nonce: 0, authorizationList: [authorization] } as const
    const [call] = await callsOf(await account.signTransaction(whole))
    expect(call?.authorizationList).toMatchObject([{ address: BOB, chainId: '0x2105', nonce: '0x1' }])
  })

  it('is rejected with the chain’s name if it is for another chain', async () => {
    const signed = await account.signTransaction({ ...fields, chainId: 1, nonce: 0, to: BOB })
    await expect(paste(signed)).rejects.toThrow('it is for Ethereum (1); this page looks at Base (8453)')
  })
})

it('reads a wallet’s JSON with value as decimal wei, and lists ignored fields', async () => {
  const wallet = {
    from: ALICE,
    to: BOB,
    value: '10',
    data: '0x01',
    gas: '0x5208',
    nonce: 3,
    gasPrice: '0x7',
    colour: 1,
  }
  const { draft, notes } = await paste(wallet)
  const expected = { from: ALICE, to: BOB, value: '0xa', input: '0x01', gas: '0x5208', nonce: '0x3', gasPrice: '0x7' }
  expect(payloadOf(draft).blockStateCalls[0]?.calls).toEqual([expected])
  expect(notes).toEqual(['Not simulated: colour'])
})

it('puts pasted calldata or a pasted address into the form’s call', async () => {
  const form = { ...EMPTY_DRAFT, blocks: [{ ...EMPTY_BLOCK, calls: [{ ...EMPTY_CALL, from: ALICE }] }] }
  const { kind, draft } = await paste(CALLDATA, {}, form)
  expect([kind, draft.blocks[0]?.calls]).toEqual(['Calldata', [{ ...EMPTY_CALL, from: ALICE, data: CALLDATA }]])
  expect((await paste(BOB, {}, form)).draft.blocks[0]?.calls).toEqual([{ ...EMPTY_CALL, from: ALICE, to: BOB }])
})

describe('a pasted transaction hash', () => {
  const transaction = {
    hash: HASH,
    from: ALICE,
    to: BOB,
    value: '0x1',
    gas: '0x5208',
    gasPrice: '0x9',
    nonce: '0x2',
    input: '0x',
  }
  const block = { number: '0x10', timestamp: '0x64', gasLimit: '0x99', miner: BOB, mixHash: HASH, baseFeePerGas: '0x7' }

  it('replays a mined transaction at its position in its block', async () => {
    const mined = { ...transaction, blockHash: HASH, transactionIndex: '0x1' }
    const { draft, happened } = await paste(HASH, {
      eth_getTransactionByHash: mined,
      eth_getBlockByHash: { ...block, transactions: [{ ...transaction, to: ALICE }, mined] },
      eth_getTransactionReceipt: { status: '0x1', gasUsed: '0x5208' },
    })
    expect(draft.state).toBe('0xf')
    expect(happened).toEqual({ succeeded: true, gasUsed: 21_000n })
    const [sent] = payloadOf(draft).blockStateCalls
    expect(sent?.calls.map(({ to }) => to)).toEqual([ALICE, BOB])
    expect(sent?.blockOverrides).toMatchObject({
      number: '0x10',
      time: '0x64',
      feeRecipient: BOB,
      baseFeePerGas: '0x7',
    })
  })

  it('simulates a pending transaction on the newest state, and is rejected if unknown', async () => {
    const waiting = await paste(HASH, { eth_getTransactionByHash: { ...transaction, blockHash: null } })
    expect([waiting.draft.state, waiting.draft.validation]).toEqual(['', 'yes'])
    await expect(paste(HASH, { eth_getTransactionByHash: null })).rejects.toThrow('no transaction of this hash')
  })
})

describe('a pasted request', () => {
  it('keeps validation, gas, state and overrides', async () => {
    const block = {
      stateOverrides: { [ALICE]: { balance: '0x1' } },
      blockOverrides: { time: '0x10', gasLimit: '0x5' },
      calls: [{ to: BOB, input: '0x02', gas: '0x9' }, {}],
    }
    const payload = { blockStateCalls: [block, {}], validation: true }
    const { draft } = await paste({ method: 'eth_simulateV1', params: [payload, '0x64'] })
    expect([draft.validation, draft.state]).toEqual(['yes', '0x64'])
    expect(payloadOf(draft)).toEqual({
      blockStateCalls: [block, { calls: [{}] }],
      ...{ traceTransfers: true, validation: true },
    })
  })

  it('takes state and overrides from eth_call', async () => {
    const params = [{ to: BOB, data: '0x02' }, { blockHash: HASH }, { [BOB]: { code: '0x00' } }]
    const { draft } = await paste({ method: 'eth_call', params })
    expect([draft.state, payloadOf(draft).blockStateCalls]).toEqual([
      HASH,
      [{ calls: [{ to: BOB, input: '0x02' }], stateOverrides: { [BOB]: { code: '0x00' } } }],
    ])
  })

  it('becomes several calls for wallet_sendCalls', async () => {
    const params = [
      { version: '2.0.0', from: ALICE, chainId: '0x2105', calls: [{ to: BOB, value: '0x1' }, { to: ALICE }] },
    ]
    expect(await callsOf({ method: 'wallet_sendCalls', params })).toEqual([
      { from: ALICE, to: BOB, value: '0x1' },
      { from: ALICE, to: ALICE },
    ])
  })
})

describe('a pasted user operation', () => {
  const operation = { sender: ALICE, nonce: 3, callData: '0x05', callGasLimit: '153', signature: '0x' }

  it('uses the entry point of the request, or v0.7 without one', async () => {
    const [call] = await callsOf({ method: 'eth_sendUserOperation', params: [operation, BOB] })
    const quantities = { nonce: '0x3', callGasLimit: '0x99' }
    expect(call).toEqual({ userOperation: { ...operation, ...quantities }, entryPoint: BOB })
    const { notes, draft } = await paste(operation)
    expect(notes).toEqual(['It names no entry point: that of v0.7 is assumed'])
    expect(payloadOf(draft).blockStateCalls[0]?.calls[0]?.entryPoint).toBe('0x0000000071727De22E5E9d8BAf0edAc6f37da032')
  })

  it('is rejected with the chain’s name if it is for another chain', async () => {
    await expect(paste({ ...operation, chainId: 10 })).rejects.toThrow('it is for OP Mainnet (10)')
  })
})

describe('a pasted Safe transaction', () => {
  const message = { to: BOB, value: '5', data: '0x06', operation: 0, safeTxGas: 0, nonce: 7 }

  it('is read from typed data, the transaction service and the transaction builder', async () => {
    const typed = { primaryType: 'SafeTx', domain: { chainId: 8453, verifyingContract: ALICE }, message }
    for (const text of [typed, { safe: ALICE, ...message, confirmations: [] }])
      expect(await callsOf(text)).toEqual([{ safeTransaction: { safe: ALICE, ...message } }])
    const batch = { chainId: '8453', meta: { createdFromSafeAddress: ALICE }, transactions: [message, message] }
    expect(await callsOf(batch)).toHaveLength(2)
    await expect(paste({ ...typed, domain: { ...typed.domain, chainId: 10 } })).rejects.toThrow(
      'it is for OP Mainnet (10)',
    )
  })

  it('has a note if it is a delegate call', async () => {
    expect((await paste({ safe: ALICE, ...message, operation: 1 })).notes[0]).toMatch(/^A delegate call/)
  })
})

it.each([
  ['0x02', /neither a signed transaction/],
  ['hello', /neither 0x-hex nor JSON/],
  ['{', /not JSON/],
  ['[]', /not a single object/],
  ['{"params":[]}', /no parameters/],
  ['{"blockStateCalls":[]}', /no blocks/],
  ['{"a":1}', /not a transaction or request/],
  ['{"primaryType":"Permit","domain":{},"message":{}}', /signature over “Permit”/],
  [`{"to":"${BOB}","value":1.5}`, /value: not a whole number/],
  [`{"to":"${BOB}","value":1e21}`, /in quotes/],
  [`{"to":"${BOB}","value":-1}`, /value: not a whole number/],
  [`{"to":"${BOB}","chainId":"0x1"}`, /for Ethereum \(1\)/],
])('rejects pasted %s', async (text, message) => {
  const refusal = paste(text)
  await expect(refusal).rejects.toThrow(DraftError)
  await expect(refusal).rejects.toThrow(message)
})
