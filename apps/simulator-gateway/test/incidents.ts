import { assemble } from './assemble.js'
import { FRIEND, OWNER, THIEF, type Trap } from './traps.js'

const DISPATCHER = '0x7000000000000000000000000000000000000031'
const BENIGN = '0x7000000000000000000000000000000000000032'
const DRAINER = '0x7000000000000000000000000000000000000033'
const SIZER = '0x7000000000000000000000000000000000000034'
const REFUSER = '0x7000000000000000000000000000000000000035'
const ROOTS = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'
const [SELECTOR_TRANSFER, SELECTOR_APPROVE] = [0xa9059cbbn, 0x095ea7b3n]

const pay = (to: string, amount: number) => `0 0 0 0 ${amount} ${BigInt(to)} GAS CALL POP`
/** Pays the friend if the value on the stack is 1 (looks honest), otherwise the thief. */
const either = `>honest JUMPI ${pay(THIEF, 9)} STOP @honest ${pay(FRIEND, 5)} STOP`
/** Emits an event of OWNER; recipient and amount are on the stack. */
const tell = (event: string) => `0 MSTORE ${BigInt(OWNER)} ${BigInt(event)} 32 0 LOG3`
const paying = (to: string) => ({ code: assemble(`${pay(to, 5)} STOP`) })
const callee = (address: string, size: number) => `128 MSTORE 0 0 ${size} 128 ${BigInt(address)} GAS STATICCALL`

/** Counts up in slot 0 to `most`, as long as at least `gas` is left. */
const counting = (gas: number, most: number) =>
  `@loop GAS ${gas} LT ISZERO >out JUMPI 0 SLOAD 1 ADD DUP1 0 SSTORE ${most} GT >loop JUMPI @out`

const OTHERS: Trap['others'] = {
  [DISPATCHER]: { code: assemble(`0 CALLDATALOAD 224 SHR ${SELECTOR_TRANSFER} EQ ${either}`) },
  [BENIGN]: paying(FRIEND),
  [DRAINER]: paying(THIEF),
  [SIZER]: { code: assemble('0 CALLDATALOAD 32 MUL 0 RETURN') },
  [REFUSER]: { code: assemble('0 CALLDATALOAD 64 MUL 0 REVERT') },
  // Returns zero, as if the history were missing.
  [ROOTS]: { code: assemble('0 CALLDATALOAD SLOAD 0 MSTORE 32 0 RETURN') },
}

/** Programs modelled on published kinds of incidents, with author and date if one is named. None is a copy. */
const INCIDENTS: Record<string, string | { program: string; byNobody: true }> = {
  // "Red pills" (ZenGo, 2023): a contract recognises wallets' simulations by a block that is not filled in.
  'a red pill by the fee recipient': `COINBASE ISZERO ${either}`,
  'a red pill by the block gas limit': `GASLIMIT 100000000 LT ${either}`,
  'a red pill by the base fee': `BASEFEE ISZERO ${either}`,
  'a red pill by prevRandao, which was difficulty': `PREVRANDAO ISZERO ${either}`,
  'a red pill by the blob base fee': `1 BLOBBASEFEE EQ ${either}`,
  'a red pill by the balance of the fee recipient': `COINBASE BALANCE ISZERO ${either}`,
  // A receive() with two paths depending on its gas: simulations give more than wallets do (walletbeat, 2025).
  'two paths by gas': `GAS 10000000 LT ${either}`,
  // Drainers' fake claims: paid in the preview, kept on chain.
  'a claim that is paid in previews alone': `GASPRICE ISZERO >paid JUMPI STOP @paid ${pay(OWNER, 5)} STOP`,
  // Automation networks' guard "only simulated" (tx.origin is zero), reversed.
  'only where nobody signs': {
    program: `ORIGIN ISZERO >on JUMPI 0 0 REVERT @on ${pay(FRIEND, 5)} STOP`,
    byNobody: true,
  },
  'a mint that is free for nobody': { program: `CALLER ISZERO ${either}`, byNobody: true },
  // Salmonella (2021): a token whose transfers move less unless certain builders include them; the amount follows a comparison.
  'a token that moves a tenth': `COINBASE ISZERO 90 MUL 10 ADD ${BigInt(FRIEND)} SWAP1 ${tell(TRANSFER)} STOP`,
  // Tokens that can't be sold above a gas price.
  'a token that sells at no gas price': `GASPRICE ISZERO >sells JUMPI 0 0 REVERT @sells ${BigInt(FRIEND)} 5 ${tell(TRANSFER)} STOP`,
  // Unlimited allowances that the preview shows as small ones.
  'an allowance by a comparison': `COINBASE ISZERO ISZERO 1000000000000000000 MUL 5 ADD ${BigInt(FRIEND)} SWAP1 ${tell(APPROVAL)} STOP`,
  'a spender by a comparison': `1 PREVRANDAO AND ${BigInt(THIEF) - BigInt(FRIEND)} MUL ${BigInt(FRIEND)} ADD 5 ${tell(APPROVAL)} STOP`,
  // Lotteries by values that a miner or a preview chooses: SmartBillions (2017), Fomo3D's airdrop (2018), Meebits' rerolled mints (2021).
  'a lottery by the hash of a block': `10 1 NUMBER SUB BLOCKHASH MOD ISZERO ${either}`,
  'an airdrop by a hash of time, prevRandao and fee recipient': `TIMESTAMP 0 MSTORE PREVRANDAO 32 MSTORE COINBASE 64 MSTORE 1000 96 0 SHA3 MOD 500 GT ${either}`,
  'an item by prevRandao, in an event': `100 PREVRANDAO MOD ${BigInt(OWNER)} 0 ${BigInt(TRANSFER)} 0 0 LOG4 STOP`,
  // Gas tokens minted at others' expense (Level K, 2018): a loop while gas is left.
  'a loop as long as there is gas': `${counting(20_000_000, 100)} 50 0 SLOAD GT ${either}`,
  'a loop that uses what a transaction cannot have': `${counting(8_000_000, 1_000_000)} 100000 0 SLOAD GT ${either}`,
  // Proxies with another implementation in previews.
  'an implementation by the base fee': `BASEFEE ISZERO ${BigInt(DRAINER) - BigInt(BENIGN)} MUL ${BigInt(DRAINER)} SUB 0 0 0 0 DUP5 GAS DELEGATECALL POP STOP`,
  'an implementation by a slot': `GASPRICE ISZERO 9000 ADD SLOAD 0 0 0 0 5 DUP6 GAS CALL POP STOP`,
  'a selector by arithmetic': `COINBASE ISZERO ${SELECTOR_TRANSFER - SELECTOR_APPROVE} MUL ${SELECTOR_APPROVE} ADD 224 SHL 0 MSTORE 0 0 4 0 ${BigInt(DISPATCHER)} GAS DELEGATECALL POP STOP`,
  'a computed jump': `BASEFEE ISZERO >theft >honest SUB MUL >theft ADD JUMP @theft ${pay(THIEF, 9)} STOP @honest ${pay(FRIEND, 5)} STOP`,
  // Drainers that send to fresh CREATE2 addresses (2023).
  'a child by prevRandao': 'PREVRANDAO 0 0 0 CREATE2 0 0 0 0 5 DUP6 GAS CALL POP STOP',
  'how much is returned': `PREVRANDAO ISZERO ${callee(SIZER, 32)} POP RETURNDATASIZE ISZERO ISZERO ${either}`,
  'how much an error says': `COINBASE ISZERO ${callee(REFUSER, 32)} POP RETURNDATASIZE ISZERO ISZERO ${either}`,
  'a beacon root that is missing': `TIMESTAMP 0 MSTORE 32 32 32 0 ${BigInt(ROOTS)} GAS STATICCALL POP 32 MLOAD ISZERO ${either}`,
  'an end for whom the fee recipient says': `COINBASE ISZERO ${BigInt(THIEF) - BigInt(FRIEND)} MUL ${BigInt(THIEF)} SUB SELFDESTRUCT`,
}

export function incidents(): Trap[] {
  return Object.entries(INCIDENTS).map(([name, incident]) => {
    const { program, byNobody } = typeof incident === 'string' ? { program: incident, byNobody: false } : incident
    return { name, code: assemble(program), others: OTHERS, ...(byNobody && { byNobody: true }) }
  })
}
