import type { PaidRequest } from '@upfront/nestjs-x402'
import type { SimulationAnswer } from '@upfront/simulation'
import { meter, type PriceList } from '../environment/price-list.js'

/** What the answer to a paid call says of its price: the charge, and all that it is computed from. */
export interface ChargeStatement {
  /**
   * In the asset's smallest unit, decimal: base + gas / 1,000,000 × perMillionGas + touched / 1,000 × perThousandTouched,
   * rounded down, at most what the calls before it in a batch have left of `maximum`.
   */
  amount: string
  /** Of the whole request. */
  maximum: string
  asset: string
  network: string
  usage: { gas: string; accounts: number; slots: number }
  priceList: PriceList
}

/** Adds up what the calls of one paid request cost. The sum is what the request is charged. */
export class MeteredCharge {
  #total = 0n

  constructor(
    private readonly list: PriceList,
    private readonly payment: PaidRequest,
  ) {
    payment.setSettlementAmount(0n)
  }

  /** True once nothing more can be charged: what is simulated from here on would be for nothing. */
  get reachedMaximum(): boolean {
    return this.#total >= this.payment.maximum
  }

  /** Charges one simulation, and states its price. */
  add({ gasUsed, touched }: Pick<SimulationAnswer, 'gasUsed' | 'touched'>): ChargeStatement {
    const { maximum, decimals, requirements } = this.payment
    const amount = meter({ gas: gasUsed, ...touched }, this.list, decimals, maximum - this.#total)
    this.#total += amount
    this.payment.setSettlementAmount(this.#total)
    return {
      amount: amount.toString(),
      maximum: maximum.toString(),
      asset: requirements.asset,
      network: requirements.network,
      usage: { gas: gasUsed.toString(), ...touched },
      priceList: this.list,
    }
  }
}
