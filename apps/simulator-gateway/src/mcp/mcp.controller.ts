import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { Controller, Post, Req, Res } from '@nestjs/common'
import { runInSlices } from '@upfront/node'
import { parseJson, parseJsonInParts, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { RateLimited, refused } from '../limits/refused.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { type Request, requestOf } from '../requests/request.js'
import type { RequestContext } from '../requests/request-context.js'
import { version } from '../rpc/client-version.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { envelopeLimits } from '../rpc/rpc.service.js'
import { checkAccept, checkVersion, OneMessage } from './one-message.js'
import type { ToolCaller } from './own-routes.js'
import { instructionsOn, TOOLS } from './tool-definitions.js'
import { Tools } from './tools.js'

/** The SDK's default. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/** Limit of a free answer: it is sent twice, as a value and as text. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** Tool calls over the rate limit are answered with a tool result, up to this multiple of the limit. */
const MAX_LIMIT_MULTIPLE = 4

/** Shared, because each server would otherwise create its own, and a server lives for one request. */
const jsonSchemaValidator = new AjvJsonSchemaValidator()

/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP. Stateless: each request is one message, answered with JSON; nothing is kept
 * between requests.
 */
@Controller()
export class McpController {
  constructor(
    private readonly tools: Tools,
    private readonly endpoint: RpcEndpoint,
    private readonly sender: AnswerSender,
    private readonly free: FreeBudget,
    private readonly environment: Environment,
  ) {}

  @Post('mcp')
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { origin, accept, 'mcp-protocol-version': protocolVersion } = request.headers
    this.checkOrigin(origin)
    checkAccept(accept)
    const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
    const budget = { ...this.endpoint.free, limits: { ...this.endpoint.free.limits, answerBytes: MAX_ANSWER_BYTES } }
    const own = requestOf(request, reply, { dialect: this.environment.DIALECT, length: bytes.length, budget })
    const refusal = await this.refusalOf(own.caller)
    const message = await this.endpoint.admit(own, (context) => this.decode(bytes, context))
    if (refusal !== undefined && methodOf(message) !== 'tools/call') throw refusal
    if (methodOf(message) !== 'initialize') checkVersion(protocolVersion)
    const server = await this.serverFor({ request, own, refusal }, message)
    const transport = new OneMessage()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) void server.close()
    })
    await server.connect(transport)
    const made = await transport.take(message)
    const answer = made === undefined ? { status: 202 } : { status: 200, body: [JSON.stringify(made)] }
    this.sender.send(reply, answer, { header: undefined })
  }

  private async serverFor(from: Omit<ToolCaller, 'signal'>, message: unknown): Promise<Server> {
    const options = { capabilities: { tools: {} }, jsonSchemaValidator }
    const instructions = methodOf(message) === 'initialize' ? await this.instructions(from.own) : undefined
    const server = new Server({ name: 'upfront', version }, { ...options, ...(instructions && { instructions }) })
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }))
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
      const { name, arguments: given = {}, _meta: meta } = params
      return this.tools.call(name, given, meta?.['x402/payment'], { ...from, signal })
    })
    return server
  }

  /**
   * Counts a message.
   * @returns the error if the client is over its limit: a tool call reports it as its result, or may be paid for
   * @throws RateLimited if it is far over
   */
  private async refusalOf(caller: Request['caller']): Promise<RateLimited | undefined> {
    try {
      await this.free.take(caller)
      return undefined
    } catch (error) {
      if (error instanceof RateLimited && error.times <= MAX_LIMIT_MULTIPLE) return error
      throw error
    }
  }

  private async instructions(own: Request): Promise<string> {
    // Works without the node too: the calls themselves report that it is down.
    const chain = await this.tools.chain(own).catch(() => 'unknown, as its node does not answer')
    return instructionsOn(chain)
  }

  /** Against DNS rebinding: only web pages send `Origin`. */
  private checkOrigin(origin: string | undefined): void {
    const allowed = this.environment.CORS_ORIGINS ?? []
    if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
    throw refused(403, 'origin: not allowed by CORS_ORIGINS')
  }

  /** @throws or rejects with RpcError, which has the HTTP status */
  private async decode(bytes: Buffer, context: RequestContext): Promise<unknown> {
    if (bytes.length > MAX_BODY_BYTES) throw refused(413, `the body is longer than ${MAX_BODY_BYTES} bytes`)
    const limits = envelopeLimits(this.environment)
    let message: unknown
    try {
      message = context.isLarge
        ? await runInSlices(parseJsonInParts(bytes, limits), context)
        : parseJson(bytes.toString(), limits)
    } catch (error) {
      if (error instanceof RpcError) throw new RpcError(error.code, error.message, undefined, 400)
      throw error
    }
    if (Array.isArray(message)) throw refused(400, 'batches are not supported: send one message per request')
    return message
  }
}

function methodOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined
}
