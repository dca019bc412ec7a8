import type { PriceList } from './price-list.js'

/** The charge of a paid call, with everything from which it is computed. */
export interface ChargeStatement {
  /**
   * Decimal, in the asset's smallest unit: base + gas / 1,000,000 × perMillionGas + touched / 1,000 × perThousandTouched + witness bytes /
   * 1,000,000 × perMillionWitnessBytes, rounded down, and at most what earlier calls of the batch left of `maximum`. Gas includes what
   * counts as gas besides the calls: see `gasBesideCalls`.
   */
  amount: string
  /** Maximum of the whole request. */
  maximum: string
  asset: string
  network: string
  usage: { gas: string; accounts: number; slots: number; witnessBytes: number }
  priceList: PriceList
}
