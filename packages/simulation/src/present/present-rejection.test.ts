import { ErrorCode } from '@upfront/protocol'
import type { Rejection, TransactionFault } from '../engine/simulation-rejected.js'
import { presentRejection } from './present-rejection.js'

const from = '0x00000000000000000000000000000000000a11ce'
const of = (fault: TransactionFault): Rejection => ({ kind: 'transaction', from, gas: 21_000n, fault })

it.each<[ErrorCode, string, Rejection]>([
  [
    ErrorCode.nonceTooLow,
    'err: nonce too low: address 0x00000000000000000000000000000000000A11cE, tx: 1 state: 2 (supplied gas 21000)',
    of({ kind: 'nonceTooLow', nonce: 1n, expected: 2n }),
  ],
  [
    ErrorCode.insufficientFunds,
    'err: insufficient funds for gas * price + value: address 0x00000000000000000000000000000000000A11cE have 4 want 5 (supplied gas 21000)',
    of({ kind: 'insufficientFunds', have: 4n, want: 5n }),
  ],
  [
    ErrorCode.internalError,
    'err: insufficient gas for floor data gas cost: have 21000, want 21040 (supplied gas 21000)',
    of({ kind: 'floorGas', want: 21_040n }),
  ],
  [
    ErrorCode.blockGasLimitReached,
    'block gas limit reached: remaining: 1, required: 2',
    { kind: 'blockGasLimit', left: 1n, asked: 2n },
  ],
  [
    ErrorCode.serverError,
    'failed to process withdrawal queue: system call failed to execute: invalid jump destination',
    { kind: 'requestQueue', queue: 'withdrawal', halt: { kind: 'invalidJump' } },
  ],
])('presentRejection returns code %s: %s', (code, message, rejection) => {
  expect(presentRejection(rejection)).toEqual({ code, message })
})
