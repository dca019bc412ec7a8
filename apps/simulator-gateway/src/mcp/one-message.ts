import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  ListToolsRequestSchema,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import { ErrorCode, quote } from '@upfront/protocol'
import { ClientGone, refused } from '../limits/refused.js'

/** The requests with params. Checked here, because the SDK calls params that do not match an internal error. */
const REQUESTS = new Map(
  [InitializeRequestSchema, ListToolsRequestSchema, CallToolRequestSchema].map((schema) => [
    schema.shape.method.value as string,
    schema,
  ]),
)

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
   * @returns its answer, -32602 if its params are invalid; undefined if the message needs none
   * @throws or rejects with RpcError -32600 (HTTP 400), ClientGone once closed, or Error if the server failed
   */
  async take(message: unknown): Promise<JSONRPCMessage | undefined> {
    const { success, data, error } = schemaOf(message).safeParse(message)
    if (!success) throw refused(400, `not a JSON-RPC message: ${problemOf(error)}`)
    if (!('method' in data && 'id' in data)) {
      this.onmessage?.(data)
      return undefined
    }
    const { error: invalid } = REQUESTS.get(data.method)?.safeParse(data) ?? {}
    if (invalid !== undefined)
      return { jsonrpc: '2.0', id: data.id, error: { code: ErrorCode.invalidParams, message: problemOf(invalid) } }
    // Servers without tasks ignore that one is asked for (MCP 2025-11-25, basic/utilities/tasks); the SDK refuses.
    delete data.params?.task
    return new Promise((resolve, reject) => {
      this.#answer = resolve
      this.#refuse = reject
      this.onmessage?.(data)
    })
  }

  async start(): Promise<void> {}

  /** Drops everything except the answer: nothing else can reach the client. Texts of internal errors are not for clients. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ('error' in message && message.error.code === ErrorCode.internalError)
      this.#refuse?.(new Error(message.error.message))
    else if (!('method' in message)) this.#answer?.(message)
  }

  async close(): Promise<void> {
    this.#refuse?.(new ClientGone())
    this.onclose?.()
  }
}

/** Of the kind of message that is meant: the union of all kinds does not name the invalid field. */
function schemaOf(message: unknown) {
  if (typeof message !== 'object' || message === null || !('method' in message)) return JSONRPCMessageSchema
  return 'id' in message ? JSONRPCRequestSchema : JSONRPCNotificationSchema
}

/** The first invalid field and what is wrong with it. */
function problemOf({ issues: [first] }: { issues: { path: PropertyKey[]; message: string }[] }): string {
  const { path = [], message = 'is invalid' } = first ?? {}
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

/** The protocol requires both types, although no answer is streamed here. @throws RpcError -32600 (HTTP 406) */
export function checkAccept(accept = ''): void {
  const types = accept.toLowerCase()
  if (types.includes('application/json') && types.includes('text/event-stream')) return
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
