import { type Address, type Hash, type Hex, ZERO_ADDRESS } from '@upfront/protocol'

/** The native currency, or a token. */
export type Asset =
  | { type: 'native' }
  | { type: 'erc20'; address: Address }
  | { type: 'erc721' | 'erc1155'; address: Address; tokenId: bigint }

/** A transfer. The zero address as sender means minting, as recipient burning. */
export interface AssetTransfer {
  asset: Asset
  from: Address
  to: Address
  /** In the asset's smallest unit; 1 for ERC-721. */
  amount: bigint
}

/** An allowance or an operator approval. */
export type AssetApproval =
  | { kind: 'erc20'; token: Address; owner: Address; spender: Address; amount: bigint }
  | { kind: 'erc721'; token: Address; owner: Address; spender: Address; tokenId: bigint }
  | { kind: 'operator'; token: Address; owner: Address; spender: Address; approved: boolean }
  /** Through Permit2, until `expiration`, seconds since 1970. */
  | {
      kind: 'permit2'
      permit2: Address
      token: Address
      owner: Address
      spender: Address
      amount: bigint
      expiration: bigint
    }

export interface EmittedLog {
  address: Address
  topics: readonly Hash[]
  data: Hex
}

/** Event topics: keccak256 of the signatures in the comments. */
const TOPIC = {
  /** Transfer(address,address,uint256) */
  transfer: '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  /** TransferSingle(address,address,address,uint256,uint256) */
  single: '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62',
  /** TransferBatch(address,address,address,uint256[],uint256[]) */
  batch: '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb',
  /** Deposit(address,uint256) */
  deposit: '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c',
  /** Withdrawal(address,uint256) */
  withdrawal: '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65',
  /** Approval(address,address,uint256) */
  approval: '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925',
  /** ApprovalForAll(address,address,bool) */
  approvalForAll: '0x17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31',
  /** Permit2's Approval(address,address,address,uint160,uint48) */
  permit2Approval: '0xda9fa7c1b00402c17d0161b249b1ab8bbec047c5a52207b9c112deffd817036b',
  /** Permit2's Permit(address,address,address,uint160,uint48,uint48) */
  permit2Permit: '0xc6a377bfc4eb120024a8ac08eef205be16b817020812c73223e81d1bdb9708ec',
} as const

const APPROVALS = new Set<Hash | undefined>([
  ...[TOPIC.approval, TOPIC.approvalForAll, TOPIC.permit2Approval, TOPIC.permit2Permit],
])

const WORD = 64

/** The transfers in a log; none if it is not a token's event or its data is malformed. */
export function transfersIn({ address, topics, data }: EmittedLog): AssetTransfer[] {
  const [event, first, second, third] = topics
  switch (event) {
    case TOPIC.transfer: {
      if (first === undefined || second === undefined) return []
      if (third !== undefined) {
        const asset: Asset = { type: 'erc721', address, tokenId: BigInt(third) }
        return [{ asset, from: addressOf(first), to: addressOf(second), amount: 1n }]
      }
      const [amount] = wordsOf(data)
      if (amount === undefined) return []
      return [{ asset: { type: 'erc20', address }, from: addressOf(first), to: addressOf(second), amount }]
    }
    case TOPIC.deposit:
    case TOPIC.withdrawal: {
      const words = wordsOf(data)
      if (first === undefined || second !== undefined || words.length !== 1) return []
      const asset: Asset = { type: 'erc20', address }
      const holder = addressOf(first)
      const amount = words[0]!
      return event === TOPIC.deposit
        ? [{ asset, from: ZERO_ADDRESS, to: holder, amount }]
        : [{ asset, from: holder, to: ZERO_ADDRESS, amount }]
    }
    case TOPIC.single: {
      const words = wordsOf(data)
      if (second === undefined || third === undefined || words.length < 2) return []
      const asset: Asset = { type: 'erc1155', address, tokenId: words[0]! }
      return [{ asset, from: addressOf(second), to: addressOf(third), amount: words[1]! }]
    }
    case TOPIC.batch: {
      const words = wordsOf(data)
      const ids = listAt(words, 0)
      const amounts = listAt(words, 1)
      if (second === undefined || third === undefined || !ids || ids.length !== amounts?.length) return []
      return ids.map((tokenId, index) => ({
        asset: { type: 'erc1155', address, tokenId },
        from: addressOf(second),
        to: addressOf(third),
        amount: amounts[index]!,
      }))
    }
    default:
      return []
  }
}

/** The transfers in logs; deposits and withdrawals of wrapped tokens come last. */
export function transfersByLogs(logs: readonly EmittedLog[]): AssetTransfer[] {
  const plain = logs.filter((log) => !isWrapping(log)).flatMap(transfersIn)
  const wrapped = logs.filter(isWrapping).flatMap(transfersIn)
  if (wrapped.length === 0) return plain
  // Some wrapped tokens log a deposit twice: as Deposit, and as a Transfer from the zero address.
  const told = new Set(plain.map(keyOf))
  return [...plain, ...wrapped.filter((transfer) => !told.has(keyOf(transfer)))]
}

/** The approval in a log, if it is one. */
export function approvalIn({ address, topics, data }: EmittedLog): AssetApproval | undefined {
  const [event, first, second, third] = topics
  if (first === undefined || second === undefined || !APPROVALS.has(event)) return undefined
  const owner = addressOf(first)
  const words = wordsOf(data)
  switch (event) {
    case TOPIC.approval:
      if (third !== undefined)
        return { kind: 'erc721', token: address, owner, spender: addressOf(second), tokenId: BigInt(third) }
      return words[0] === undefined
        ? undefined
        : { kind: 'erc20', token: address, owner, spender: addressOf(second), amount: words[0] }
    case TOPIC.approvalForAll:
      return words[0] === undefined
        ? undefined
        : { kind: 'operator', token: address, owner, spender: addressOf(second), approved: words[0] !== 0n }
    case TOPIC.permit2Approval:
    case TOPIC.permit2Permit:
      if (third === undefined || words.length < 2) return undefined
      return {
        kind: 'permit2',
        permit2: address,
        token: addressOf(second),
        owner,
        spender: addressOf(third),
        amount: words[0]!,
        expiration: words[1]!,
      }
    default:
      return undefined
  }
}

/** Whether a log is a wrapped token's deposit or withdrawal. */
function isWrapping({ topics: [event] }: EmittedLog): boolean {
  return event === TOPIC.deposit || event === TOPIC.withdrawal
}

function addressOf(topic: Hash): Address {
  return `0x${topic.slice(26)}`
}

function wordsOf(data: Hex): bigint[] {
  const count = Math.floor((data.length - 2) / WORD)
  return Array.from({ length: count }, (_, index) =>
    BigInt(`0x${data.slice(2 + index * WORD, 2 + (index + 1) * WORD)}`),
  )
}

/** The array of words whose offset is in this word. */
function listAt(words: readonly bigint[], place: number): bigint[] | undefined {
  const offset = words[place]
  if (offset === undefined || offset % 32n !== 0n || offset / 32n >= BigInt(words.length)) return undefined
  const start = Number(offset / 32n)
  const length = words[start]!
  if (length > BigInt(words.length - start - 1)) return undefined
  return words.slice(start + 1, start + 1 + Number(length))
}

function keyOf({ asset, from, to, amount }: AssetTransfer): string {
  return [asset.type, asset.type === 'native' ? '' : asset.address, from, to, amount].join(' ')
}
