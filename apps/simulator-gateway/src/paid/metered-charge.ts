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
import type { ExtraFields } from '../requests/rpc-method.js'
import type { SimulationContext } from '../simulate/simulation-context.js'
import type { PaidSimulation } from './paid-simulator.js'
import type { ReceiptIssuer } from './receipt-issuer.js'

/** Request and result of a paid call, for its receipt. */
export interface PaidExchange {
  dialect: Dialect
  params: unknown
  resultHash: Hash
  /** Gas of each call. */
  gas: string[]
}

/** Adds up the cost of a paid request's calls; the sum is the amount settled. */
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

  /** Whether the signed maximum is reached: further simulations would be unpaid. */
  get reachedMaximum(): boolean {
    return this.#total >= this.#payment.maximum
  }

  /**
   * Charges one simulation and returns its bill, the fields next to its result. Work that the maximum does not cover counts as free work.
   * @param method whose rules apply
   * @param exchange called only if a receipt is signed
   */
  async add(
    method: ReceiptMethod,
    { answer, block, witness }: PaidSimulation,
    exchange: () => Awaitable<PaidExchange>,
    context: Pick<SimulationContext, 'spendInVain'>,
  ): Promise<ExtraFields> {
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
