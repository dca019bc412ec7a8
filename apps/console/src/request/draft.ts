/** A call as typed. */
export interface CallDraft {
  from: string
  to: string
  /** Ether in decimal, or wei as 0x-hex. */
  value: string
  /** 0x-hex, or a function's signature with its arguments as JSON: `transfer(address,uint256) ["0x…", "1"]`. */
  data: string
  gas: string
  nonce: string
  /** The fees are in wei. */
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  gasPrice: string
  /** Other fields of the call as JSON: access list, authorizations, blobs, chain id. */
  more: string
}

/** Overrides of one account before a block's calls. Empty fields override nothing. */
export interface AccountDraft {
  address: string
  /** Like a call's value. */
  balance: string
  nonce: string
  code: string
  slot: string
  value: string
}

/** A block as typed. */
export interface BlockDraft {
  calls: CallDraft[]
  /** Preceding calls as a JSON list, such as those before a mined transaction in its block. Their outcome is not shown. */
  before: string
  /** State overrides by form. Several for one account are merged. */
  accounts: AccountDraft[]
  /** State overrides as JSON. */
  overrides: string
  number: string
  time: string
  baseFee: string
  /** Other overrides of the block as JSON. */
  more: string
}

/** A request as typed. */
export interface Draft {
  blocks: BlockDraft[]
  /** For choosing functions and decoding results. */
  abi: string
  /** Whether nonces, fees and balances are checked as for a real transaction: `''` or `'yes'`. */
  validation: string
  /** The state to simulate on. Empty: the newest, compared with `latest`. */
  state: string
}

export const EMPTY_CALL: CallDraft = {
  ...{ from: '', to: '', value: '', data: '', gas: '', nonce: '' },
  ...{ maxFeePerGas: '', maxPriorityFeePerGas: '', gasPrice: '', more: '' },
}
export const EMPTY_ACCOUNT: AccountDraft = { address: '', balance: '', nonce: '', code: '', slot: '', value: '' }
export const EMPTY_BLOCK: BlockDraft = {
  ...{ calls: [EMPTY_CALL], before: '', accounts: [], overrides: '' },
  ...{ number: '', time: '', baseFee: '', more: '' },
}
export const EMPTY_DRAFT: Draft = { blocks: [EMPTY_BLOCK], abi: '', validation: '', state: '' }

/** A change that may make a request succeed. */
export interface Remedy {
  /** For example `Use nonce 5, and give it 34,368 gas`. */
  label: string
  draft: Draft
}

/** The draft with one block changed. */
export function withBlock(draft: Draft, at: number, edit: (block: BlockDraft) => BlockDraft): Draft {
  return { ...draft, blocks: draft.blocks.with(at, edit(draft.blocks[at]!)) }
}

/** A field's text for a value of pasted or linked JSON. */
export function textOf(given: unknown): string {
  return typeof given === 'string' || typeof given === 'number' || typeof given === 'bigint' ? String(given) : ''
}

/** A draft with these calls on the newest state. */
export function draftWith(calls: CallDraft[], rest: Partial<Draft> = {}): Draft {
  return { ...EMPTY_DRAFT, ...rest, blocks: [{ ...EMPTY_BLOCK, calls }] }
}
