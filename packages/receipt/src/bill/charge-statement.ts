import type { PriceList } from './price-list.js'

/** What the answer to a paid call says of its price: the charge, and all that it is computed from. */
export interface ChargeStatement {
  /**
   * In the asset's smallest unit, decimal: base + gas / 1,000,000 × perMillionGas + touched / 1,000 × perThousandTouched
   * + witness bytes / 1,000,000 × perMillionWitnessBytes, rounded down, at most what the calls before it in a batch have left
   * of `maximum`. Gas is that of the calls and what counts as gas beside them: see `gasBesideCalls`.
   */
  amount: string
  /** Of the whole request. */
  maximum: string
  asset: string
  network: string
  usage: { gas: string; accounts: number; slots: number; witnessBytes: number }
  priceList: PriceList
}
