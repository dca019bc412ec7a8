import { type CallToolResult, McpError, ErrorCode as McpErrorCode } from '@modelcontextprotocol/sdk/types.js'
import { Injectable } from '@nestjs/common'
import { priceListHash } from '@upfront/nestjs-x402'
import { ErrorCode, joinJson, mismatch, Place, quote, RpcError, type RpcFailure } from '@upfront/protocol'
import { atto, meter, previewOf, previewParams } from '@upfront/receipt'
import type { InspectedBlock } from '@upfront/simulation'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { formatEther } from 'viem'
import { Environment } from '../environment/environment.js'
import { type AnswerState, answerStateFromHeader } from '../pending/answer-state.js'
import type { Request } from '../requests/request.js'
import { RpcEndpoint } from '../rpc/rpc.endpoint.js'
import { paidLimits } from '../simulate/simulation-context.js'
import { type OwnRequest, OwnRoutes, type ToolCaller } from './own-routes.js'
import { failedSettlement, isOffer, paidResult, paymentRequired, receiptOf } from './payment-results.js'

type Arguments = Record<string, unknown>

/** A simulation that a tool can serve either way: by the paid route, or by the equivalent free request. */
interface Work {
  tool: string
  sold: OwnRequest
  /** A JSON-RPC call. */
  free: { method: string; params: unknown }
  /** Shows the free result in the tool's format. */
  present(result: unknown, state: string): object
}

const SHOWN_OF_A_BLOCK = ['number', 'hash', 'timestamp', 'gasUsed', 'baseFeePerGas', 'calls', 'transactions']

/** Serves tool calls: free within the limits of `POST /`, otherwise paid by x402 in `_meta["x402/payment"]`. */
@Injectable()
export class Tools {
  private readonly sells: boolean

  constructor(
    private readonly routes: OwnRoutes,
    private readonly endpoint: RpcEndpoint,
    private readonly environment: Environment,
  ) {
    this.sells = environment.BILLING_URL !== undefined
  }

  /** @throws McpError -32602 if there is no such tool; a refusal by the tool is a result with `isError` */
  async call(name: string, given: Arguments, payment: unknown, caller: ToolCaller): Promise<CallToolResult> {
    try {
      if (name === 'price') return success(await this.price(given, caller))
      const work = name === 'preview' ? preview(given) : name === 'simulate' ? simulation(given) : undefined
      if (work === undefined) throw new McpError(McpErrorCode.InvalidParams, `no such tool: ${quote(name)}`)
      const { paid = false } = given
      if (typeof paid !== 'boolean') throw mismatch(new Place(undefined, 'paid'), 'true or false', paid)
      const wantsPaid = paid || payment !== undefined
      return await (wantsPaid ? this.buy(work, payment, caller) : this.serveFree(work, caller))
    } catch (thrown) {
      if (!(thrown instanceof RpcError)) throw thrown
      return failure({ code: thrown.code, message: thrown.message })
    }
  }

  private async serveFree(work: Work, caller: ToolCaller): Promise<CallToolResult> {
    const { refusal } = caller
    if (refusal !== undefined)
      return this.sells ? this.buy(work, undefined, caller) : failure({ code: refusal.code, message: refusal.message })
    const { method, params } = work.free
    const { result, error, view } = await this.ask(caller.own, method, params)
    if (error === undefined) return success(work.present(result, view.header ?? ''))
    return this.sells && error.code === ErrorCode.limitExceeded ? this.buy(work, undefined, caller) : failure(error)
  }

  private async buy({ tool, sold }: Work, payment: unknown, caller: ToolCaller): Promise<CallToolResult> {
    if (!this.sells)
      throw new RpcError(ErrorCode.invalidParams, 'this gateway sells nothing: call the tool without a payment')
    const answer = await this.routes.ask({ ...sold, payment }, caller)
    if (isOffer(answer)) return paymentRequired(tool, answer)
    const receipt = receiptOf(answer)
    if (answer.status === 402 && receipt !== undefined)
      return failedSettlement(tool, answer, receipt, await this.routes.ask(sold, caller))
    return paidResult(answer, receipt)
  }

  private async ask(own: Request, method: string, params: unknown) {
    const { answer, view } = await this.endpoint.call(own, method, params)
    const response = JSON.parse(joinJson(answer.body ?? []).toString()) as {
      result?: unknown
      error?: RpcFailure['error']
    }
    return { ...response, view }
  }

  /** CAIP-2 ID of the simulated chain, such as `eip155:8453`. */
  async chain(own: Request): Promise<string> {
    const { result = 0, error } = await this.ask(own, 'eth_chainId', [])
    if (error !== undefined) throw new RpcError(error.code as ErrorCode, error.message)
    return `eip155:${BigInt(result as string)}`
  }

  private async price(given: Arguments, caller: ToolCaller): Promise<object> {
    const { LIMITS, PRICE_LIST } = this.environment
    const free = { gas: LIMITS.gas, callsPerSecond: LIMITS.callsPerSecond === 0 ? null : LIMITS.callsPerSecond }
    const chain = await this.chain(caller.own)
    if (!this.sells) return { chain, free, paid: null }
    const unpaid = await this.routes.ask({ method: 'POST', path: '/v1/simulate' }, caller)
    const offer = unpaid.headers['payment-required']
    const usage = {
      gas: amount(given, 'gas'),
      accounts: Number(amount(given, 'accounts')),
      slots: Number(amount(given, 'slots')),
      witnessBytes: 0,
    }
    const charge = meter(usage, PRICE_LIST, 18, atto(PRICE_LIST.maximum))
    return {
      chain,
      free,
      paid: {
        gas: Number(paidLimits(this.environment).gas),
        priceList: PRICE_LIST,
        priceListHash: priceListHash({ ...PRICE_LIST }),
        ...(Object.keys(given).length === 0 ? {} : { charge: `$${formatEther(charge)}` }),
        offer: offer === undefined ? null : decodePaymentRequiredHeader(String(offer)),
      },
    }
  }
}

function preview({ paid: _, ...given }: Arguments): Work {
  const params = previewParams(given)
  return {
    tool: 'preview',
    sold: { method: 'GET', path: `/v1/preview?${new URLSearchParams(given as Record<string, string>)}` },
    free: { method: 'upfront_simulate', params },
    present: (result, state) => previewOf(result as InspectedBlock[], shownState(answerStateFromHeader(state))),
  }
}

function simulation({ paid: _, block = 'pending', ...payload }: Arguments): Work {
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_simulateV1', params: [payload, block] }
  return {
    tool: 'simulate',
    sold: { method: 'POST', path: '/v1/simulate', body },
    free: { method: body.method, params: body.params },
    present: (result) => ({ result: (result as Record<string, unknown>[]).map(short) }),
  }
}

/** Keeps only the block fields that concern the calls: a whole header would fill an agent's context. */
function short(block: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(SHOWN_OF_A_BLOCK.filter((name) => name in block).map((name) => [name, block[name]]))
}

function shownState(answer: AnswerState): Parameters<typeof previewOf>[1] {
  return answer.kind === 'preconfirmed'
    ? { state: 'preconfirmed', flashblock: answer.flashblock }
    : { state: 'canonical', flashblock: 0 }
}

/** A count among the arguments; 0 if absent. @throws RpcError -32602 */
function amount(given: Arguments, name: string): bigint {
  const value = given[name] ?? 0
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new RpcError(ErrorCode.invalidParams, `${name}: expected a whole number, got ${quote(value)}`)
  return BigInt(value)
}

function text(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }] }
}

/** The value as structured content (`outputSchema`), and as text for clients that predate it. */
function success(value: object): CallToolResult {
  return { ...text(value), structuredContent: { ...value } }
}

function failure(error: RpcFailure['error']): CallToolResult {
  return { isError: true, ...text({ error }) }
}
