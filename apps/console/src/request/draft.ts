/** A call as typed. */
export interface CallDraft {
  from: string
  to: string
  /** Ether as a decimal number, or wei as 0x-hex. */
  value: string
  /** 0x-hex; or a function's signature with its arguments as JSON: `transfer(address,uint256) ["0x…", "1"]`. */
  data: string
}

/** Overrides of one account before a block's calls. An empty field overrides nothing. */
export interface AccountDraft {
  address: string
  /** As a call's value. */
  balance: string
  nonce: string
  code: string
  slot: string
  value: string
}

/** A block as typed. */
export interface BlockDraft {
  calls: CallDraft[]
  /** State overrides by form. Several of one account are merged. */
  accounts: AccountDraft[]
  /** State overrides as JSON. */
  overrides: string
  number: string
  time: string
  baseFee: string
}

/** A request as typed. */
export interface Draft {
  blocks: BlockDraft[]
  /** To choose functions from, and to decode what comes back. */
  abi: string
}

export const EMPTY_CALL: CallDraft = { from: '', to: '', value: '', data: '' }
export const EMPTY_ACCOUNT: AccountDraft = { address: '', balance: '', nonce: '', code: '', slot: '', value: '' }
export const EMPTY_BLOCK: BlockDraft = {
  ...{ calls: [EMPTY_CALL], accounts: [], overrides: '' },
  ...{ number: '', time: '', baseFee: '' },
}
export const EMPTY_DRAFT: Draft = { blocks: [EMPTY_BLOCK], abi: '' }

/** The text of a field for a value of pasted or linked JSON. */
export function textOf(given: unknown): string {
  return typeof given === 'string' || typeof given === 'number' ? String(given) : ''
}
