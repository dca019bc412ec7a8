/** Hostile programs, in the syntax of `assemble`. */
export const HOSTILE_PROGRAMS = {
  'endless loop': '@loop >loop JUMP',
  'keccak loop': '@loop 0x010000 0 SHA3 POP >loop JUMP',
  'memory growth': '@loop 1 MSIZE MSTORE >loop JUMP',
  'one huge memory access': '1 0xffffffffffffffff MSTORE',
  'sha256 loop': '@loop 32 0 0x010000 0 2 GAS STATICCALL POP >loop JUMP',
  'modexp loop': `256 0 MSTORE 32 32 MSTORE 256 64 MSTORE 0 NOT 96 MSTORE 0 NOT 352 MSTORE 0 NOT 384 MSTORE
    @loop 32 0 640 0 5 GAS STATICCALL POP >loop JUMP`,
  'pairing loop': '@loop 32 0 1920 0 8 GAS STATICCALL POP >loop JUMP',
  'log bomb': '@loop 0x010000 0 LOG0 >loop JUMP',
  'return bomb': '0x300000 0 RETURN',
  'revert bomb': '0x300000 0 REVERT',
  'cold slots': '0 @loop DUP1 SLOAD POP 1 ADD >loop JUMP',
  'cold writes': '0 @loop 1 DUP2 SSTORE 1 ADD >loop JUMP',
  'cold accounts': '0x100000 @loop DUP1 BALANCE POP 1 ADD >loop JUMP',
  'cold codes': '0x100000 @loop 32 0 0 DUP4 EXTCODECOPY 1 ADD >loop JUMP',
  'transient writes': '0 @loop DUP1 DUP1 TSTORE 1 ADD >loop JUMP',
  'self-call recursion': '@loop 0 0 0 0 0 ADDRESS GAS CALL POP >loop JUMP',
  'create loop': '@loop 0 0 0 CREATE POP >loop JUMP',
  'large creations': '@loop 0xc000 0 0 CREATE POP >loop JUMP',
} as const
