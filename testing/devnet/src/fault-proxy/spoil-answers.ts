import type { NodeFault } from './fault.js'

export interface RpcCall {
  id: unknown
  method: string
  params?: unknown[]
}
export type RpcAnswer = Record<string, unknown>

const READS_OF_STATE = new Set([
  'eth_getBalance',
  'eth_getTransactionCount',
  'eth_getCode',
  'eth_getStorageAt',
  'eth_getProof',
])
const BLOCK_METHODS = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash', 'eth_getHeaderByNumber'])

/** The response text with the fault applied. The node's answers are given in the order of the calls. */
export function spoilAnswers(
  fault: NodeFault | undefined,
  calls: RpcCall[],
  answers: RpcAnswer[],
  isBatch: boolean,
  url: string | undefined,
): string {
  const send = (all: RpcAnswer[]) => JSON.stringify(isBatch ? all : all[0])
  switch (fault) {
    case 'truncated': {
      const text = send(answers)
      return text.slice(0, Math.floor(text.length / 2))
    }
    case 'empty-json':
      return isBatch ? '[]' : '{}'
    case 'neither':
      return send(answers.map(({ result, error, ...rest }) => rest))
    case 'both':
      return send(answers.map((answer) => ({ ...answer, error: { code: -32000, message: 'both' } })))
    case 'rpc-error':
      return send(answers.map(({ id }) => failure(id, -32000, 'internal failure')))
    case 'missing-state':
      return send(
        answers.map((answer, index) => (READS_OF_STATE.has(calls[index]!.method) ? stateMissing(answer.id) : answer)),
      )
    case 'tells-url':
      return send(answers.map(({ id }) => failure(id, -32000, `no access to ${url}`)))
    case 'null-results':
      return send(answers.map((answer) => ({ ...answer, result: null })))
    case 'null-blocks':
      return send(
        answers.map((answer, index) =>
          BLOCK_METHODS.has(calls[index]!.method) ? { ...answer, result: null } : answer,
        ),
      )
    case 'wrong-id':
      return send(answers.map((answer, index) => ({ ...answer, id: 1_000_000_000 + index })))
    case 'reordered':
      return send([...answers].reverse())
    case 'cut-batches':
      return send(answers.slice(0, Math.max(1, Math.floor(answers.length / 3))))
    case 'refused-batches':
    case 'forbidden-batches':
      return isBatch ? JSON.stringify(failure(null, -32600, 'batches are not supported')) : send(answers)
    case 'no-eip-1898':
      return send(
        answers.map((answer, index) =>
          calls[index]!.params?.some(isBlockHashObject)
            ? failure(answer.id, -32602, 'invalid argument 1: cannot unmarshal object')
            : answer,
        ),
      )
    default:
      return send(answers)
  }
}

/** geth's error for missing state. */
export function stateMissing(id: unknown): RpcAnswer {
  return failure(id, -32000, `missing trie node ${'ab'.repeat(32)} (path )`)
}

/** The answer of a node whose receipts and logs end with this block. */
export function asIndexed(last: bigint, method: string, answer: RpcAnswer): RpcAnswer {
  const isLater = (entry: unknown) => BigInt((entry as { blockNumber?: string } | null)?.blockNumber ?? 0) > last
  const { result } = answer
  if (method === 'eth_getLogs' && Array.isArray(result)) {
    return { ...answer, result: result.filter((entry) => !isLater(entry)) }
  }
  const isReceipt = method === 'eth_getTransactionReceipt' || method === 'eth_getBlockReceipts'
  return isReceipt && [result].flat().some(isLater) ? { ...answer, result: null } : answer
}

export function failure(id: unknown, code: number, message: string): RpcAnswer {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function isBlockHashObject(param: unknown): boolean {
  return typeof param === 'object' && param !== null && 'blockHash' in param
}
