import { Controller, Get, Header, Query, Req } from '@nestjs/common'
import { Chain } from '@upfront/chain'
import { signTruthSummary, type TruthSummary } from '@upfront/receipt'
import type { FastifyRequest } from 'fastify'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { callerOf } from '../callers/callers.js'
import { Environment } from '../environment/environment.js'
import { FreeBudget } from '../limits/free-budget.js'
import { refused } from '../limits/refused.js'
import { today } from './scored-days.js'
import { ScoredTruth } from './scored-truth.js'

/** An answer is reused for this long: signing takes a millisecond. */
const LASTS_MS = 1_000

/** `GET /v1/truth`: a day's score of predictions. */
@Controller('v1/truth')
export class TruthController {
  private readonly account: PrivateKeyAccount | undefined
  private readonly made = new Map<string, { at: number; text: Promise<string> }>()

  constructor(
    private readonly scored: ScoredTruth,
    private readonly chain: Chain,
    private readonly free: FreeBudget,
    { RECEIPT_KEYS_FILE: keys }: Environment,
  ) {
    if (keys !== undefined) this.account = privateKeyToAccount(keys.privateKey)
  }

  /** @param day such as `2026-11-24` (UTC); today by default */
  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  async summary(@Req() request: FastifyRequest, @Query('day') day: unknown = today()): Promise<string> {
    await this.free.take(callerOf(request))
    if (typeof day !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(day))
      throw refused(400, 'day: expected a day such as 2026-11-24')
    const known = this.made.get(day)
    if (known !== undefined && performance.now() - known.at < LASTS_MS) return known.text
    const text = this.summaryOf(day)
    this.made.clear()
    this.made.set(day, { at: performance.now(), text })
    return text
  }

  private async summaryOf(day: string): Promise<string> {
    const chainId = await this.chain.chainId()
    const found = await this.scored.of(day)
    if (found === undefined && day !== today()) throw refused(404, `day: no data for ${day}`)
    const counts = found ?? { seen: 0, predicted: 0, judged: 0, hits: 0, explained: 0, misses: [] }
    const summary: TruthSummary = {
      chainId: Number(chainId),
      day,
      ...counts,
      issuedAt: Math.floor(Date.now() / 1_000),
    }
    return JSON.stringify(this.account === undefined ? summary : await signTruthSummary(summary, this.account))
  }
}
