import type { PaidRequest } from '@upfront/nestjs-x402'
import type { Dialect, SimulatedBlock } from '@upfront/protocol'
import {
  type ChargeStatement,
  gasByCall,
  jsonHash,
  meter,
  NO_WITNESS,
  type PriceList,
  type ReceiptMethod,
  type SignedReceipt,
  type Witness,
} from '@upfront/receipt'
import type { PaidSimulation } from './paid-simulator.js'
import type { ReceiptIssuer } from './receipt-issuer.js'

/** What a paid call asked for and got, as its receipt names them. */
export interface PaidExchange {
  method: ReceiptMethod
  dialect: Dialect
  params: unknown
  /** What the receipt's `resultHash` is of. */
  result: unknown
  blocks: readonly SimulatedBlock[]
}

/** What stands beside a paid result. */
export interface Bill {
  charge: ChargeStatement
  receipt?: SignedReceipt
  witness?: Witness
}

/** Adds up what the calls of one paid request cost. The sum is what the request is charged. */
export class MeteredCharge {
  #total = 0n

  constructor(
    private readonly list: PriceList,
    private readonly payment: PaidRequest,
    private readonly issuer: ReceiptIssuer,
  ) {
    payment.setSettlementAmount(0n)
  }

  /** True once nothing more can be charged: what is simulated from here on would be for nothing. */
  get reachedMaximum(): boolean {
    return this.#total >= this.payment.maximum
  }

  /**
   * Charges one simulation, and bills it.
   * @param exchange called only where there is a receipt to sign
   */
  async add({ answer, block, witness }: PaidSimulation, exchange: () => PaidExchange): Promise<Bill> {
    const { maximum, decimals, requirements } = this.payment
    const { gasUsed, touched } = answer
    const chargedBefore = this.#total
    const witnessBytes = witness === undefined ? 0 : Buffer.byteLength(JSON.stringify(witness))
    const usage = { gas: gasUsed, ...touched, witnessBytes }
    const amount = meter(usage, this.list, decimals, maximum - chargedBefore)
    this.#total += amount
    this.payment.setSettlementAmount(this.#total)
    const charge: ChargeStatement = {
      amount: amount.toString(),
      maximum: maximum.toString(),
      asset: requirements.asset,
      network: requirements.network,
      usage: { ...usage, gas: gasUsed.toString() },
      priceList: this.list,
    }
    const receipt = await this.issuer.issue(this.payment, () => {
      const { method, dialect, params, result, blocks } = exchange()
      return {
        method,
        dialect,
        requestHash: jsonHash({ method, params }),
        resultHash: jsonHash(result),
        witnessHash: witness === undefined ? NO_WITNESS : jsonHash(witness),
        block,
        usage: { ...usage, gas: gasByCall(blocks) },
        amount: charge.amount,
        maximum: charge.maximum,
        chargedBefore: chargedBefore.toString(),
      }
    })
    return { charge, ...(receipt && { receipt }), ...(witness && { witness }) }
  }
}
