import type { PaidRequest } from '@upfront/nestjs-x402'
import type { SimulationAnswer } from '@upfront/simulation'
import { meter, type PriceList } from './price-list.js'

/** What a paid answer says of its price: the charge, and all that it is computed from. */
export interface ChargeStatement {
  /** In the asset's smallest unit, decimal: base + gas / 1,000,000 × perMillionGas + touched / 1,000 × perThousandTouched, rounded down, at most `maximum`. */
  amount: string
  maximum: string
  asset: string
  network: string
  usage: { gas: string; accounts: number; slots: number }
  priceList: PriceList
}

/** Sets the price of what was simulated, and states it. */
export function chargeFor(
  { gasUsed, touched }: Pick<SimulationAnswer, 'gasUsed' | 'touched'>,
  list: PriceList,
  payment: PaidRequest,
): ChargeStatement {
  const { maximum, decimals, requirements } = payment
  const amount = meter({ gas: gasUsed, ...touched }, list, decimals, maximum)
  payment.setSettlementAmount(amount)
  return {
    amount: amount.toString(),
    maximum: maximum.toString(),
    asset: requirements.asset,
    network: requirements.network,
    usage: { gas: gasUsed.toString(), ...touched },
    priceList: list,
  }
}
