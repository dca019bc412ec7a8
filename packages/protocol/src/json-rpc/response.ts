import type { RpcError } from '../rpc-error.js'
import type { RpcId } from './envelope.js'

export type RpcResponse = RpcSuccess | RpcFailure

export interface RpcSuccess {
  jsonrpc: '2.0'
  id: RpcId
  result: unknown
}

export interface RpcFailure {
  jsonrpc: '2.0'
  id: RpcId
  error: { code: number; message: string; data?: unknown }
}

export function rpcSuccess(id: RpcId, result: unknown): RpcSuccess {
  return { jsonrpc: '2.0', id, result: result === undefined ? null : result }
}

export function rpcFailure(id: RpcId, error: RpcError): RpcFailure {
  const { code, message, data } = error
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } }
}
