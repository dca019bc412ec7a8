import type { PaidRequest } from '@upfront/nestjs-x402'
import type { Awaitable } from '@upfront/node'
import type { Dialect, Hash, JsonText } from '@upfront/protocol'
import {
  type ChargeStatement,
  gasBesideCalls,
  meter,
  NO_WITNESS,
  type PriceList,
  priceOf,
  type ReceiptMethod,
} from '@upfront/receipt'
import type { Beside } from '../requests/rpc-method.js'
import type { SimulationContext } from '../simulate/simulation-context.js'
import type { PaidSimulation } from './paid-simulator.js'
import type { ReceiptIssuer } from './receipt-issuer.js'

/** What a paid call asked for and got, as its receipt names them. */
export interface PaidExchange {
  dialect: Dialect
  params: unknown
  resultHash: Hash
  /** Of each call. */
  gas: string[]
}

/** Adds up what the calls of one paid request cost. The sum is what the request is charged. */
export class MeteredCharge {
  #total = 0n
  readonly #list: PriceList
  readonly #payment: PaidRequest
  readonly #issuer: ReceiptIssuer

  constructor(list: PriceList, payment: PaidRequest, issuer: ReceiptIssuer) {
    this.#list = list
    this.#payment = payment
    this.#issuer = issuer
    payment.setSettlementAmount(0n)
  }

  /** True once nothing more can be charged: further simulations would be unpaid. */
  get reachedMaximum(): boolean {
    return this.#total >= this.#payment.maximum
  }

  /**
   * Charges one simulation, and bills it: what stands beside its result. The part that the maximum does not pay for counts as free work does.
   * @param method by whose rules
   * @param exchange called only where there is a receipt to sign
   */
  async add(
    method: ReceiptMethod,
    { answer, block, witness }: PaidSimulation,
    exchange: () => Awaitable<PaidExchange>,
    context: Pick<SimulationContext, 'spendInVain'>,
  ): Promise<Beside> {
    const { maximum, decimals, requirements } = this.#payment
    const { gasUsed, touched, furtherGas = 0n } = answer
    const chargedBefore = this.#total
    const witnessBytes = witness?.length ?? 0
    const resultBytes = Buffer.byteLength(answer.json)
    const besideCalls = gasBesideCalls(method, { furtherGas, resultBytes })
    const usage = { gas: sum(besideCalls, gasUsed), ...touched, witnessBytes }
    const price = priceOf(usage, this.#list, decimals)
    const amount = meter(usage, this.#list, decimals, maximum - chargedBefore)
    if (amount < price) {
      const unpaid = (took: bigint) => (took * (price - amount)) / price
      const bytes = Number(unpaid(BigInt(resultBytes + witnessBytes)))
      context.spendInVain?.({ gasUsed: unpaid(usage.gas), bytes })
    }
    this.#total += amount
    this.#payment.setSettlementAmount(this.#total)
    const charge: ChargeStatement = {
      amount: amount.toString(),
      maximum: maximum.toString(),
      asset: requirements.asset,
      network: requirements.network,
      usage: { ...usage, gas: usage.gas.toString() },
      priceList: this.#list,
    }
    const receipt = await this.#issuer.issue(this.#payment, async () => {
      const { dialect, params, resultHash, gas } = await exchange()
      const hashOf = async (json: JsonText) => (await this.#issuer.digester.digest('value', json)).hash
      return {
        method,
        dialect,
        requestHash: await hashOf(JSON.stringify({ method, params })),
        resultHash,
        witnessHash: witness === undefined ? NO_WITNESS : await hashOf(witness),
        block,
        usage: { ...usage, gas: [...gas, ...besideCalls] },
        amount: charge.amount,
        maximum: charge.maximum,
        chargedBefore: chargedBefore.toString(),
      }
    })
    return {
      charge: JSON.stringify(charge),
      ...(receipt && { receipt: JSON.stringify(receipt) }),
      ...(witness && { witness }),
    }
  }
}

function sum(amounts: readonly string[], start: bigint): bigint {
  return amounts.reduce((total, amount) => total + BigInt(amount), start)
}
