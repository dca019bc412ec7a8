import { assemble } from './assemble.js'

/** A call that behaves while it detects a simulation. */
export interface Trap {
  name: string
  code: `0x${string}`
  /** Other contracts that it needs, by address. */
  others: Record<string, { code: string; stateDiff?: Record<string, string> }>
  /** The call has no sender. */
  byNobody?: boolean
}

export const FRIEND = '0xf000000000000000000000000000000000000001'
export const THIEF = '0xf000000000000000000000000000000000000666'
export const OWNER = '0xa000000000000000000000000000000000000000'
const ECHO = '0x7000000000000000000000000000000000000011'
const REFUSER = '0x7000000000000000000000000000000000000012'
const SIZER = '0x7000000000000000000000000000000000000013'
const EXPLODER = '0x7000000000000000000000000000000000000021'
const STRAY = '0x7000000000000000000000000000000000000022'
const PURSE = '0x7000000000000000000000000000000000000023'
const WORKER = '0x7000000000000000000000000000000000000024'
const BEACON_ROOTS = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const LIBRARY = '0x7000000000000000000000000000000000000014'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const word = (value: bigint | number | string) => `0x${BigInt(value).toString(16).padStart(64, '0')}`

type Conditions = Record<string, { program: string; byNobody?: boolean }>

/** Each leaves 1 in a simulation without a gas limit, and 0 in a typical block. */
const CONDITIONS: Conditions = {
  'zero prevRandao': { program: 'PREVRANDAO ISZERO' },
  'an even prevRandao': { program: '1 PREVRANDAO AND ISZERO' },
  'no fee recipient': { program: 'COINBASE ISZERO' },
  'a fee recipient that has no balance': { program: 'COINBASE BALANCE ISZERO' },
  'a fee recipient without code': { program: 'COINBASE EXTCODESIZE ISZERO' },
  'missing history': { program: '200 NUMBER SUB BLOCKHASH ISZERO' },
  'a hash of the last block': { program: '1 NUMBER SUB BLOCKHASH 255 SHR 1 SUB ISZERO ISZERO ISZERO ISZERO' },
  'the gas cap': { program: 'GAS 20000000 LT' },
  'more gas than anybody sends': { program: 'GAS 24 SHR ISZERO ISZERO' },
  'no gas price': { program: 'GASPRICE ISZERO' },
  'no base fee': { program: 'BASEFEE ISZERO' },
  'a gas price below a gwei': { program: '1000000000 GASPRICE LT' },
  'no origin': { program: 'ORIGIN ISZERO', byNobody: true },
  'a sender who is nobody': { program: 'CALLER ISZERO', byNobody: true },
  'neither gas price nor base fee': { program: 'GASPRICE BASEFEE MUL ISZERO' },
  'a zero beacon root': {
    program: `TIMESTAMP 0 MSTORE 32 32 32 0 ${BigInt(BEACON_ROOTS)} GAS STATICCALL POP 32 MLOAD ISZERO`,
  },
  'a fee recipient that is warm': { program: 'GAS 0 BALANCE POP GAS SWAP1 SUB 1000 GT' },
  'the block gas limit': { program: '1000000 GASLIMIT GT' },
}

/** Each passes on the value on the stack in another way. */
const WAYS: Record<string, string> = {
  'as it is': '',
  'by memory': '128 MSTORE 128 MLOAD',
  'by a copy in memory': '128 MSTORE 32 128 192 MCOPY 192 MLOAD',
  'by storage': '77 SSTORE 77 SLOAD',
  'by transient storage': '77 TSTORE 77 TLOAD',
  'by a call': `128 MSTORE 32 160 32 128 0 ${BigInt(ECHO)} GAS CALL POP 160 MLOAD`,
  'by a static call': `128 MSTORE 32 160 32 128 ${BigInt(ECHO)} GAS STATICCALL POP 160 MLOAD`,
  'by a delegate call': `128 MSTORE 32 160 32 128 ${BigInt(ECHO)} GAS DELEGATECALL POP 160 MLOAD`,
  'by returned data': `128 MSTORE 0 0 32 128 ${BigInt(ECHO)} GAS STATICCALL POP 32 0 160 RETURNDATACOPY 160 MLOAD`,
  'by the size of returned data': `128 MSTORE 0 0 32 128 ${BigInt(SIZER)} GAS STATICCALL POP RETURNDATASIZE`,
  'by whether a call fails': `128 MSTORE 0 0 32 128 ${BigInt(REFUSER)} GAS STATICCALL`,
  'by a memory that is too large': `128 MSTORE 0 0 32 128 ${BigInt(EXPLODER)} 90000 STATICCALL`,
  'by a jump that leads nowhere': `128 MSTORE 0 0 32 128 ${BigInt(STRAY)} 90000 STATICCALL`,
  'by a balance': `0 0 0 0 DUP5 ${BigInt(PURSE)} GAS CALL POP POP ${BigInt(PURSE)} BALANCE`,
  'by the gas of a call': `100000 MUL 128 MSTORE 0 0 0 0 ${BigInt(WORKER)} 128 MLOAD STATICCALL`,
  'by a hash': `128 MSTORE 32 128 SHA3 ${BigInt('0xb10e2d527612073b26eecdfd717e6a320cf44b4afac2b0732d9fcbe2b7fa0cf6')} EQ`,
  'by a power of zero': 'ISZERO 0 EXP',
  'by a quotient': 'DUP1 DIV',
  'by a shift': '1 SHL 1 SHR',
  'by a byte': '31 BYTE',
  'by a precompile': '128 MSTORE 32 160 32 128 4 GAS STATICCALL POP 160 MLOAD',
  'by a slot': 'SLOAD',
  'by a place in memory': '5 128 MSTORE 1 159 MSTORE8 0 191 MSTORE8 1 SUB 32 MUL 128 ADD MLOAD 1 AND',
}

const PAY = (to: string, amount: number) => `0 0 0 0 ${amount} ${BigInt(to)} GAS CALL POP`
const TELL = (event: string) => `0 MSTORE ${BigInt(OWNER)} ${BigInt(event)} 32 0 LOG3`

/** Each acts differently on 1 than on 0. */
const USES: Record<string, string> = {
  'pays by a branch': `>honest JUMPI ${PAY(THIEF, 9)} STOP @honest ${PAY(FRIEND, 5)} STOP`,
  'tells of a transfer by a branch': `>honest JUMPI ${BigInt(THIEF)} 9 ${TELL(TRANSFER)} STOP @honest ${BigInt(FRIEND)} 5 ${TELL(TRANSFER)} STOP`,
  'approves by a branch': `>honest JUMPI ${BigInt(THIEF)} 9 ${TELL(APPROVAL)} STOP @honest STOP`,
  'fails by a branch': `>honest JUMPI 0 0 REVERT @honest ${PAY(FRIEND, 5)} STOP`,
  'pays an amount by a comparison': `5 MUL 0 0 0 0 DUP5 ${BigInt(FRIEND)} GAS CALL POP STOP`,
  'tells of an amount by a comparison': `5 MUL ${BigInt(FRIEND)} SWAP1 ${TELL(TRANSFER)} STOP`,
  'pays whom a comparison names': `${BigInt(THIEF) - BigInt(FRIEND)} MUL ${BigInt(THIEF)} SUB 0 0 0 0 5 DUP6 GAS CALL POP STOP`,
  'jumps where it computes': `>theft >honest SUB MUL >theft ADD JUMP @theft ${PAY(THIEF, 9)} STOP @honest ${PAY(FRIEND, 5)} STOP`,
  'pays whom a slot names': '9000 ADD SLOAD 0 0 0 0 5 DUP6 GAS CALL POP STOP',
  'pays its child': '0 MSTORE 0 0 0 0 CREATE2 POP 32 0 SHA3 0 0 0 0 5 DUP6 GAS CALL POP STOP',
  'has code that it computes do it': `${BigInt(LIBRARY)} ADD 0 0 0 0 DUP5 GAS DELEGATECALL POP STOP`,
  'destroys itself for whom it computes': `${BigInt(THIEF) - BigInt(FRIEND)} MUL ${BigInt(THIEF)} SUB SELFDESTRUCT`,
}

const pays = (to: string) => ({ code: assemble(`${PAY(to, 5)} STOP`) })
const OTHERS = {
  [ECHO]: { code: assemble('0 CALLDATALOAD 0 MSTORE 32 0 RETURN') },
  [SIZER]: { code: assemble('0 CALLDATALOAD 0 RETURN') },
  [REFUSER]: { code: assemble('0 CALLDATALOAD >on JUMPI 0 0 REVERT @on STOP') },
  [EXPLODER]: { code: assemble('0 CALLDATALOAD ISZERO 1000000000000000 MUL MLOAD STOP') },
  [STRAY]: { code: assemble('0 CALLDATALOAD >on MUL JUMP @on STOP') },
  [WORKER]: { code: assemble('5 SLOAD POP STOP') },
  [BEACON_ROOTS]: {
    code: '0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500',
  },
  [LIBRARY]: pays(THIEF),
  [`0x${(BigInt(LIBRARY) + 1n).toString(16)}`]: pays(FRIEND),
}
export const SLOTS = { [word(1)]: word(1), [word(9000)]: word(THIEF), [word(9001)]: word(FRIEND) }

/** Every condition with every way and every use. */
export function traps(conditions = CONDITIONS): Trap[] {
  return Object.entries(conditions).flatMap(([noticed, { program, byNobody }]) =>
    Object.entries(WAYS).flatMap(([way, carry]) =>
      Object.entries(USES).map(([use, then]) => ({
        name: `${noticed}, ${way}: ${use}`,
        code: assemble(`${program} ${carry} ${then}`),
        others: OTHERS,
        ...(byNobody && { byNobody }),
      })),
    ),
  )
}
