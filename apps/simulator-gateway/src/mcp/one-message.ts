import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import { quote } from '@upfront/protocol'
import { ClientGone, refused } from '../limits/refused.js'

/**
 * The SDK server's transport for one HTTP request: one message, answered with JSON. The SDK's own transport creates a fetch `Request` and
 * `Response` for each, and validates the message against its schema five times.
 */
export class OneMessage implements Transport {
  onclose: Transport['onclose']
  onerror: Transport['onerror']
  onmessage: Transport['onmessage']
  #answer: ((message: JSONRPCMessage) => void) | undefined
  #refuse: ((reason: Error) => void) | undefined

  /**
   * Passes the message to the connected server.
   * @returns its answer; undefined if the message needs none
   * @throws or rejects with RpcError -32600 (HTTP 400), or ClientGone once closed
   */
  async take(message: unknown): Promise<JSONRPCMessage | undefined> {
    const { success, data } = JSONRPCMessageSchema.safeParse(message)
    if (!success) throw refused(400, 'not a JSON-RPC message')
    if (!('method' in data && 'id' in data)) {
      this.onmessage?.(data)
      return undefined
    }
    return new Promise((resolve, reject) => {
      this.#answer = resolve
      this.#refuse = reject
      this.onmessage?.(data)
    })
  }

  async start(): Promise<void> {}

  /** Drops everything except the answer: nothing else can reach the client. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) this.#answer?.(message)
  }

  async close(): Promise<void> {
    this.#refuse?.(new ClientGone())
    this.onclose?.()
  }
}

/** The protocol requires both types, although no answer is streamed here. @throws RpcError -32600 (HTTP 406) */
export function checkAccept(accept = ''): void {
  if (accept.includes('application/json') && accept.includes('text/event-stream')) return
  throw refused(406, 'accept: expected both application/json and text/event-stream')
}

/** @throws RpcError -32600 (HTTP 400) */
export function checkVersion(version: unknown): void {
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) return
  throw refused(
    400,
    `mcp-protocol-version: expected one of ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')}, got ${quote(version)}`,
  )
}
