import { setTimeout as sleep } from 'node:timers/promises'
import { BadRequestException, Controller, Get, HttpException, Query } from '@nestjs/common'
import { Settlement } from '@upfront/nestjs-x402'

@Controller()
export class MeteredController {
  private ran = 0

  constructor(private readonly settlement: Settlement) {}

  /** Charges `charge` (`$0.03` or `30000`) after `slowMs` milliseconds. With `fail` it fails with that status. */
  @Get('metered')
  async metered(@Query('charge') charge?: string, @Query('fail') fail?: string, @Query('slowMs') slowMs?: string) {
    const run = ++this.ran
    await this.work(count(slowMs, 'slowMs', 0, 600_000) ?? 0)
    if (charge !== undefined) this.settlement.setSettlementAmount(charge)
    const status = count(fail, 'fail', 400, 599)
    if (status !== undefined) throw new HttpException(`failed with ${status}, as asked`, status)
    return { run, charge: charge ?? null }
  }

  /** How often the handler above ran, paid or not. */
  @Get('runs')
  runs() {
    return { runs: this.ran }
  }

  private async work(milliseconds: number): Promise<void> {
    const signal = this.settlement.payment?.signal
    await sleep(milliseconds, undefined, signal === undefined ? {} : { signal })
  }
}

function count(text: string | undefined, name: string, least: number, most: number): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    throw new BadRequestException(`${name}: expected an integer from ${least} to ${most}`)
  }
  return value
}
