import { createHash } from 'node:crypto'
import { bytesToHex } from '@ethereumjs/util'
import { bls12_381 } from '@noble/curves/bls12-381.js'

const from = `0xa${'0'.repeat(39)}`
const SPARE = `0xe${'0'.repeat(39)}`
const DEPOSIT_CONTRACT = '0x00000000219ab540356cbb839cbe05303d7705fa'
const WITHDRAWAL_QUEUE = '0x00000961ef480eb55e80d19ad83579a64c007002'
const CONSOLIDATION_QUEUE = '0x0000bbddc7ce488642fb579f8b00f3a590007251'
const BEACON_ROOTS = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const HISTORY = '0x0000f90827f1c53a10cb7a02335b175320002935'
const DEPOSIT_TOPIC = '649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'
const OSAKA = { time: word(4_100n).replace(/^0x0+/, '0x') }
/** Logs its calldata with the deposit event's topic. */
const EMITTER = `0x365f5f377f${DEPOSIT_TOPIC}365fa100`

const MOST = `0x${'ff'.repeat(32)}`
const TAKEN_BACK = (index: number) => `0xe5${index.toString(16).padStart(38, '0')}`
const FULL = `0xe${'1'.repeat(39)}`
const FULL_REVERTING = `0xe${'2'.repeat(39)}`
const FULL_CALLING = `0xe${'3'.repeat(39)}`
/** Fails on one byte of input. */
const PAIRING = `0x${'8'.padStart(40, '0')}`

const BLAKE2F = `0x${'9'.padStart(40, '0')}`
const IDENTITY = `0x${'4'.padStart(40, '0')}`

type Fields = Record<string, unknown>

/** Moves a precompile to an address that the protocol calls. */
function moved(precompile: string, to: string): Fields {
  const stateOverrides = { [precompile]: { movePrecompileToAddress: to } }
  return { blockStateCalls: [{ blockOverrides: OSAKA, stateOverrides, calls: [{ from, to: SPARE, value: '0x1' }] }] }
}

function request(call: Fields, code?: string, more: Fields = {}): Fields {
  const stateOverrides = code === undefined ? {} : { [SPARE]: { code } }
  const calls = [{ from, to: SPARE, ...call }]
  return {
    traceTransfers: true,
    ...more,
    blockStateCalls: [{ blockOverrides: OSAKA, stateOverrides, calls }, { calls: [] }],
  }
}

/** Sends 1 wei and one byte of input to each, and returns all balances and its own. */
function wrapping(targets: string[]): string {
  const calls = targets.map((target) => `5f5f60015f600173${target.slice(2)}5af150`)
  const balances = targets.map(
    (target, index) => `73${target.slice(2)}3160${(32 * index).toString(16).padStart(2, '0')}52`,
  )
  return `0x${calls.join('')}${balances.join('')}4760805260a05ff3`
}

function word(value: bigint): string {
  return `0x${value.toString(16).padStart(64, '0')}`
}

function opening(y: bigint): string {
  const commitment = bls12_381.G1.Point.BASE.multiply(3n).toBytes()
  const hash = createHash('sha256').update(commitment).digest()
  hash[0] = 1
  const proof = bls12_381.G1.Point.ZERO.toBytes()
  return `${bytesToHex(hash)}${word(5n).slice(2)}${word(y).slice(2)}${bytesToHex(commitment).slice(2)}${bytesToHex(proof).slice(2)}`
}

const point = (precompile: string, input: string) => request({ to: `0x${precompile.padStart(40, '0')}`, input })
const deposit = (bytes: number) => ({
  ...request({}),
  blockStateCalls: [
    {
      blockOverrides: OSAKA,
      stateOverrides: { [DEPOSIT_CONTRACT]: { code: EMITTER } },
      calls: [
        {
          from,
          to: DEPOSIT_CONTRACT,
          input: `0x${Array.from({ length: bytes }, (_, index) => (index % 256).toString(16).padStart(2, '0')).join('')}`,
        },
      ],
    },
  ],
})

const EMPTY_RECIPIENT = `0x${'f'.padStart(40, 'e')}`

/** Cases that random requests hardly ever contain. */
export const HANDMADE_REQUESTS: Record<string, Fields> = {
  'a deposit (EIP-6110)': deposit(576),
  'a deposit of another length': deposit(577),
  'a withdrawal request (EIP-7002)': request({ to: WITHDRAWAL_QUEUE, value: '0x1', input: `0x${'ab'.repeat(56)}` }),
  'a consolidation request (EIP-7251)': request({
    to: CONSOLIDATION_QUEUE,
    value: '0x1',
    input: `0x${'cd'.repeat(96)}`,
  }),
  'a queue that reverts': {
    blockStateCalls: [{ blockOverrides: OSAKA, stateOverrides: { [WITHDRAWAL_QUEUE]: { code: '0x5f5ffd' } } }],
  },
  // Failures of the contracts of EIP-4788 and EIP-2935 are ignored; those of the two queues make the block invalid.
  ...Object.fromEntries(
    [BEACON_ROOTS, HISTORY, WITHDRAWAL_QUEUE, CONSOLIDATION_QUEUE].flatMap((contract) =>
      [BLAKE2F, IDENTITY].map((precompile) => [`precompile ${precompile} on ${contract}`, moved(precompile, contract)]),
    ),
  ),
  'a point evaluation': point('a', opening(3n)),
  'a point evaluation that fails': point('a', opening(4n)),
  'memory beyond all gas': request({}, '0x63ffffffff5100'),
  'memory beyond 64 bits': request({}, '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff5100'),
  'a megabyte returned': request({}, '0x621000005ff3'),
  'a megabyte returned to a caller': request({}, '0x3630146012575f5f5f5f5f30620fffff1500'),
  'recursion to the depth limit': request({}, '0x5f5f5f5f5f305af15f545f5500'),
  'recursion with transfers': request({ value: '0x5' }, '0x5f5f5f5f6001305af15f545f5500'),
  'creations to the depth limit': request({}, '0x365f5f37365f5ff000'),
  'code that is too large': request({ to: undefined, input: '0x6160015ff3' }),
  'code of the largest size': request({ to: undefined, input: '0x6160005ff3', gas: '0x7a1200' }),
  'code that cannot be paid': request({ to: undefined, input: '0x6160005ff3', gas: '0x186a0' }),
  'init code that is too large': request({ to: undefined, input: `0x${'00'.repeat(49_153)}` }),
  'init code of CREATE that is too large': request({}, '0x61c0015f5ff000'),
  'a contract that dies in its constructor': request({ to: undefined, input: '0x30ff', value: '0x9' }),
  'a creation that names another nonce than its sender has': request({
    to: undefined,
    input: '0x60016001555f5ff3',
    nonce: '0x7',
  }),
  'a contract that dies for another': request({ to: undefined, input: '0x33ff', value: '0x9' }),
  'the last nonce': {
    blockStateCalls: [
      {
        blockOverrides: OSAKA,
        stateOverrides: { [from]: { nonce: '0xffffffffffffffff' } },
        calls: [{ from }, { from, to: SPARE }, { from, to: SPARE }],
      },
    ],
  },
  'a balance that wraps': {
    blockStateCalls: [
      {
        blockOverrides: OSAKA,
        stateOverrides: { [SPARE]: { balance: `0x${'ff'.repeat(32)}` } },
        calls: [
          { from, to: SPARE, value: '0x1' },
          { from: SPARE, to: from, value: '0x0' },
        ],
      },
    ],
  },
  'balances that wrap in inner calls, some of which fail': {
    traceTransfers: true,
    blockStateCalls: [
      {
        blockOverrides: OSAKA,
        stateOverrides: {
          [SPARE]: { code: wrapping([FULL, FULL_REVERTING, FULL_CALLING, PAIRING]) },
          [FULL]: { balance: MOST },
          [FULL_REVERTING]: { balance: MOST, code: '0x60016002555f5ffd' },
          // Pays its caller 1 wei.
          [FULL_CALLING]: { balance: MOST, code: '0x5f5f5f5f6001335af100' },
          [PAIRING]: { balance: MOST },
        },
        calls: [
          { from, to: SPARE, value: '0x9' },
          { from, to: FULL_REVERTING, value: '0x1' },
          { from, to: PAIRING, value: '0x1', input: '0x01' },
          { from, to: SPARE, value: '0x9' },
        ],
      },
    ],
  },
  'blobs that nobody pays for': request({ blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }),
  'calldata at the floor (EIP-7623)': request({ input: `0x${'ff'.repeat(4_000)}` }),
  // BLOCKHASH of the parent, and of a block five below it: the genesis block, whose hash a traced call does not know.
  'hashes of blocks below a number that is overridden': {
    blockStateCalls: [
      {
        blockOverrides: { ...OSAKA, number: '0x5' },
        stateOverrides: { [SPARE]: { code: '0x60014303405f52600543034060205260405ff3' } },
        calls: [{ from, to: SPARE }],
      },
    ],
  },
  // COINBASE, EXTCODEHASH: the account exists in the first call, and is gone in the second.
  'a fee recipient that is empty but for its storage': {
    blockStateCalls: [
      {
        blockOverrides: { ...OSAKA, feeRecipient: EMPTY_RECIPIENT },
        stateOverrides: {
          [EMPTY_RECIPIENT]: { state: { [word(1n)]: word(1n) } },
          [SPARE]: { code: '0x413f5f5260205ff3' },
        },
        calls: [
          { from, to: SPARE },
          { from, to: SPARE },
        ],
      },
    ],
  },
  'refunds beyond a fifth': {
    blockStateCalls: [
      {
        blockOverrides: OSAKA,
        stateOverrides: {
          [SPARE]: {
            code: '0x5f5f555f6001555f6002555f600355',
            state: Object.fromEntries([0n, 1n, 2n, 3n].map((slot) => [word(slot), word(1n)])),
          },
        },
        calls: [{ from, to: SPARE }],
      },
    ],
  },
  // Children that fill two slots and then revert, halt, or run out of gas; or that create or call the first kind, and then revert.
  'storage that is cleared for more gas than there is': {
    blockStateCalls: [
      {
        blockOverrides: OSAKA,
        stateOverrides: { [SPARE]: { code: '0x5f600155', stateDiff: { [word(1n)]: word(2n) } } },
        calls: [2_300, 2_301, 2_400, 2_401, 3_000, 4_999, 5_000, 12_000].map((gas) => ({
          from,
          to: SPARE,
          gas: `0x${(21_005 + gas).toString(16)}`,
        })),
      },
    ],
  },
  'new state that is taken back': {
    blockStateCalls: [
      {
        stateOverrides: Object.fromEntries(
          [
            '0x60018055600280555f5ffd',
            '0x6001805560028055fe',
            '0x60018055600280555b600856',
            '0x63600180555f526004601c5ff0505f5ffd',
            `0x5f5f5f5f5f73${TAKEN_BACK(0).slice(2)}5af1505f5ffd`,
          ].flatMap((code, index) => [
            [TAKEN_BACK(index), { code }],
            // Calls it with 0xf0000 gas.
            [TAKEN_BACK(index + 16), { code: `0x5f5f5f5f5f73${TAKEN_BACK(index).slice(2)}620f0000f1505a5f5260205ff3` }],
          ]),
        ),
        calls: [0, 1, 2, 3, 4].flatMap((index) => [
          { from, to: TAKEN_BACK(index), gas: '0x1e8480' },
          { from, to: TAKEN_BACK(index + 16), gas: '0x1e8480' },
        ]),
      },
    ],
  },
}
