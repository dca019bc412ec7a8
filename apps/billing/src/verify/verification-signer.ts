import type { Address, Hex } from '@upfront/protocol'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { decodeFunctionResult, encodeFunctionData } from 'viem'
import type { Chain } from '../chain/chain.js'
import { NodeFault } from '../chain/node-error.js'
import { SETTLEMENT_GAS_LIMIT } from '../chain/settlement-call.js'

/** By x402's proxy, and by EIP-3009. */
const SETTLEMENTS: ReadonlySet<string> = new Set(['settle', 'transferWithAuthorization'])

/** What `isValidSignature` of ERC-1271 answers. */
const ERC1271_MAGIC_VALUE: Hex = '0x1626ba7e'
const NOT_SIGNED: Hex = '0xffffffff'

type ReadContractArguments = Parameters<FacilitatorEvmSigner['readContract']>[0]

/** What most verifications ask: each asked for once, when it is first wanted. */
export interface PaymentReads {
  payer: Address
  /** The digest that the payer's own key has signed, which need not be recovered again; `null`: it has not, or it is a contract. */
  signed: Hex | null
  payerCode(): Promise<Hex>
  /** Of the maximum, from the facilitator. */
  simulatedSettlement(): Promise<Hex>
}

/**
 * The chain as @x402/evm's checks see it, for one verification.
 *
 * The library takes an unanswered call for a failed check, and leaves one promise without a catch: so `getCode` never
 * rejects here, and what went wrong is kept in `fault`, to be looked at before the library's verdict is believed.
 */
export class VerificationSigner implements FacilitatorEvmSigner {
  fault: NodeFault | null = null
  readonly verifyTypedData = refuse
  readonly writeContract = refuse
  readonly sendTransaction = refuse
  readonly waitForTransactionReceipt = refuse
  readonly #chain: Chain
  readonly #addresses: readonly Address[]
  readonly #reads: PaymentReads

  constructor(chain: Chain, addresses: readonly Address[], reads: PaymentReads) {
    this.#chain = chain
    this.#addresses = addresses
    this.#reads = reads
  }

  /** Asks at once for all that a good authorization needs, so that it shares a request; the library may be done before it asks. */
  readAhead(): void {
    for (const read of [this.#reads.payerCode(), this.#reads.simulatedSettlement()]) {
      read.catch((error: unknown) => this.#note(error))
    }
  }

  getAddresses(): readonly Address[] {
    return this.#addresses
  }

  async getCode({ address }: { address: Hex }): Promise<Hex> {
    const account = address.toLowerCase() as Address
    try {
      // Code, as the library sees it, is what answers for a signature.
      if (account === this.#reads.payer) return (await this.#isRecovered()) ? '0x01' : await this.#reads.payerCode()
      if (!this.#chain.tokens.has(account)) return await this.#chain.latest.code(account)
      return (await this.#chain.isContract(account)) ? '0x01' : '0x'
    } catch (error) {
      this.#note(error)
      return '0x'
    }
  }

  async readContract({ address, abi, functionName, args = [] }: ReadContractArguments): Promise<unknown> {
    const contract = { abi, functionName } as { abi: typeof abi; functionName: string }
    // Its diagnosis of a failed simulation goes through Multicall3; we have read balance and allowance ourselves.
    if (functionName === 'aggregate3' || functionName === 'tryAggregate') throw new Error('not needed')
    try {
      if (functionName === 'isValidSignature' && (await this.#isRecovered()))
        return args[0] === this.#reads.signed ? ERC1271_MAGIC_VALUE : NOT_SIGNED
      if (SETTLEMENTS.has(functionName)) return await this.#reads.simulatedSettlement()
      const result = await this.#chain.latest.call(address, encodeFunctionData({ ...contract, args }), {
        gas: SETTLEMENT_GAS_LIMIT,
      })
      return decodeFunctionResult({ ...contract, data: result })
    } catch (error) {
      this.#note(error)
      throw error
    }
  }

  /** Of an account with code its contract decides, also where EIP-7702 has put it there. */
  async #isRecovered(): Promise<boolean> {
    return this.#reads.signed !== null && (await this.#reads.payerCode()) === '0x'
  }

  #note(error: unknown): void {
    // Only silence is a fault: a contract that reverts, burns all gas or answers rubbish is the payer's own.
    if (error instanceof NodeFault) this.fault ??= error
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('a verification does not send'))
}
