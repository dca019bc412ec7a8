/** Words that an instruction pops and pushes, if its results depend only on its operands. */
export const STACK: Record<string, [number, number]> = {
  ...each([1, 1], 'ISZERO NOT CLZ BLOBHASH'),
  ...each([2, 1], 'ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR'),
  ...each([3, 1], 'ADDMOD MULMOD'),
  ...each([1, 0], 'POP JUMP'),
  ...each([2, 0], 'JUMPI'),
  ...each([0, 1], 'ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER'),
  ...each([0, 1], 'DIFFICULTY PREVRANDAO GASLIMIT CHAINID BASEFEE BLOBBASEFEE SLOTNUM PC MSIZE GAS'),
}

function each(stack: [number, number], names: string): Record<string, [number, number]> {
  return Object.fromEntries(names.split(' ').map((name) => [name, stack]))
}
