import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common'
import { inTurns } from '@upfront/node'
import { parseJson, parseJsonInParts, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { RateLimited, refused } from '../limits/refused.js'
import { Admission } from '../requests/admission.js'
import { AnswerSender } from '../requests/answer-sender.js'
import { type Request, requestOf } from '../requests/request.js'
import type { RequestContext } from '../requests/request-context.js'
import { version } from '../rpc/client-version.js'
import { envelopeLimits } from '../rpc/rpc.service.js'
import { checkAccept, checkVersion, OneMessage } from './one-message.js'
import type { ToolCaller } from './own-routes.js'
import { instructionsOn, TOOLS } from './tool-definitions.js'
import { Tools } from './tools.js'

/** As the SDK itself takes by default. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/** Of a free answer: it is written as a value, and once more as text. */
const MAX_ANSWER_BYTES = 1024 * 1024

/** Calls of tools over the limit of calls are answered as tools do up to so many times that limit. */
const MOST_TIMES_LIMIT = 4

/** Shared: a server makes one for itself otherwise, and a server lives for one request. */
const jsonSchemaValidator = new AjvJsonSchemaValidator()

/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP. Stateless: each request is one message, answered as JSON, and
 * nothing is kept between two.
 */
@Controller()
export class McpController {
  constructor(
    private readonly tools: Tools,
    private readonly admission: Admission,
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
    const budget = { ...this.admission.free, limits: { ...this.admission.free.limits, answerBytes: MAX_ANSWER_BYTES } }
    const own = requestOf(request, reply, { dialect: this.environment.DIALECT, length: bytes.length, budget })
    const refusal = await this.refusalOf(own.caller)
    const message = await this.admission.admit(own, (context) => this.decode(bytes, context))
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

  /** There is no stream to listen to. Clients of MCP 2024-11-05 begin here, and learn where to go. */
  @Get(['mcp', 'sse'])
  listen(): never {
    const message =
      "the HTTP+SSE transport of MCP 2024-11-05 is not served: set the client's transport to streamable HTTP, which sends each message by POST to /mcp"
    throw refused(405, message)
  }

  /** There is no session to end. */
  @Delete('mcp')
  end(): never {
    return this.listen()
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
   * Counts a message. Why a call of a tool is not free: it is told as the tool's result, or may be paid for instead.
   * @throws RateLimited
   */
  private async refusalOf(caller: Request['caller']): Promise<RateLimited | undefined> {
    try {
      await this.free.take(caller)
      return undefined
    } catch (error) {
      if (error instanceof RateLimited && error.times <= MOST_TIMES_LIMIT) return error
      throw error
    }
  }

  private async instructions(own: Request): Promise<string> {
    // An agent is served where the node is out of reach, too: its calls say so then.
    const chain = await this.tools.chain(own).catch(() => 'not known while its node does not answer')
    return instructionsOn(chain)
  }

  /** Only web pages send an origin: one that may not call could do so by rebinding its name. */
  private checkOrigin(origin: string | undefined): void {
    const allowed = this.environment.CORS_ORIGINS ?? []
    if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
    throw refused(403, 'origin: not among CORS_ORIGINS')
  }

  /** @throws or rejects with RpcError with its HTTP status */
  private async decode(bytes: Buffer, context: RequestContext): Promise<unknown> {
    if (bytes.length > MAX_BODY_BYTES) throw refused(413, `the body is longer than ${MAX_BODY_BYTES} bytes`)
    const limits = envelopeLimits(this.environment)
    let message: unknown
    try {
      message = context.isLarge
        ? await inTurns(parseJsonInParts(bytes, limits), context)
        : parseJson(bytes.toString(), limits)
    } catch (error) {
      if (error instanceof RpcError) throw new RpcError(error.code, error.message, undefined, 400)
      throw error
    }
    if (Array.isArray(message)) throw refused(400, 'batches are not taken: send one message a request')
    return message
  }
}

function methodOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'method' in message ? message.method : undefined
}
