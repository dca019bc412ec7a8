import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { Controller, Delete, Get, Post, Req, Res } from '@nestjs/common'
import { ErrorCode, parseJson, RpcError } from '@upfront/protocol'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Environment } from '../environment/environment.js'
import { version } from '../rpc/client-version.js'
import { envelopeLimits } from '../rpc/rpc.service.js'
import { TOOLS } from './tool-definitions.js'
import { Tools } from './tools.js'

/** As the SDK itself takes by default. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/** Shared: a server makes one for itself otherwise, and a server lives for one request. */
const jsonSchemaValidator = new AjvJsonSchemaValidator()

/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP. Stateless: each request is one message, answered as JSON, and
 * nothing is kept between two.
 */
@Controller('mcp')
export class McpController {
  constructor(
    private readonly tools: Tools,
    private readonly environment: Environment,
  ) {}

  @Post()
  async serve(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.checkOrigin(request.headers.origin)
    const message = this.decode(request.body)
    const server = this.serverFor(request)
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    reply.raw.once('close', () => void server.close())
    await server.connect(transport)
    const { status, headers, body } = await transport.handleRequest(webRequest(request), { parsedBody: message })
    reply.code(status).headers(Object.fromEntries(headers))
    reply.send(body === null ? undefined : await new Response(body).text())
  }

  /** There is no stream to listen to. */
  @Get()
  listen(): never {
    throw new RpcError(ErrorCode.invalidRequest, 'send one MCP message by POST', undefined, 405)
  }

  /** There is no session to end. */
  @Delete()
  end(): never {
    return this.listen()
  }

  private serverFor(request: FastifyRequest): Server {
    const server = new Server({ name: 'upfront', version }, { capabilities: { tools: {} }, jsonSchemaValidator })
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...TOOLS] }))
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
      const { name, arguments: given = {}, _meta: meta } = params
      return this.tools.call(name, given, meta?.['x402/payment'], { request, signal })
    })
    return server
  }

  /** Only web pages send an origin: one that may not call could do so by rebinding its name. */
  private checkOrigin(origin: string | undefined): void {
    const allowed = this.environment.CORS_ORIGINS ?? []
    if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return
    throw new RpcError(ErrorCode.invalidRequest, 'origin: not among CORS_ORIGINS', undefined, 403)
  }

  /** @throws RpcError with its HTTP status */
  private decode(body: unknown): unknown {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
    const refuse = (code: ErrorCode, message: string, status = 400) => new RpcError(code, message, undefined, status)
    if (bytes.length > MAX_BODY_BYTES) {
      throw refuse(ErrorCode.invalidRequest, `the body is longer than ${MAX_BODY_BYTES} bytes`, 413)
    }
    let message: unknown
    try {
      message = parseJson(bytes.toString(), envelopeLimits(this.environment))
    } catch (error) {
      if (error instanceof RpcError) throw refuse(error.code, error.message)
      throw error
    }
    if (Array.isArray(message))
      throw refuse(ErrorCode.invalidRequest, 'batches are not taken: send one message a request')
    return message
  }
}

/** The head of a request, as the SDK reads it. */
function webRequest({ headers }: FastifyRequest): Request {
  const names = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id']
  const pairs = names.flatMap((name) =>
    typeof headers[name] === 'string' ? [[name, headers[name]] as [string, string]] : [],
  )
  return new Request('http://gateway/mcp', { method: 'POST', headers: pairs })
}
