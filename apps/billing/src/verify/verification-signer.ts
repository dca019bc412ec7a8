import type { Address, Hex } from '@upfront/protocol'
import type { FacilitatorEvmSigner } from '@x402/evm'
import { decodeFunctionResult, encodeFunctionData } from 'viem'
import type { Chain } from '../chain/chain.js'
import { NodeFault } from '../chain/node-error.js'
import { SETTLEMENT_GAS_LIMIT } from '../chain/settlement-call.js'

/** Settlement functions of x402's proxies and of EIP-3009. */
const SETTLEMENTS: ReadonlySet<string> = new Set(['settle', 'transferWithAuthorization'])

/** ERC-1271's result of `isValidSignature` for a valid signature. */
const ERC1271_MAGIC_VALUE: Hex = '0x1626ba7e'
const NOT_SIGNED: Hex = '0xffffffff'

type ReadContractArguments = Parameters<FacilitatorEvmSigner['readContract']>[0]

/** Reads that most verifications need. Each is made once, on first use. */
export interface PaymentReads {
  payer: Address
  /** The digest signed by the payer's own key; `null` if there is none or the payer is a contract. */
  signed: Hex | null
  payerCode(): Promise<Hex>
  /** Simulated settlement of the maximum, sent by the facilitator. */
  simulatedSettlement(): Promise<Hex>
}

/**
 * The chain as seen by @x402/evm's checks, for one verification.
 *
 * The library takes an unanswered call for a failed check, and leaves one promise without a catch. So `getCode` never rejects, and faults
 * are kept in `fault`: check it before using the library's verdict.
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

  /** Starts the reads of a valid authorization early, so that they share a request. */
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
      // The library uses the code to decide who verifies the signature.
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
    // The library diagnoses a failed simulation through Multicall3; we read balance and allowance ourselves.
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

  /** Whether the payer's key decides. If the account has code, its contract decides, even if the code comes from EIP-7702. */
  async #isRecovered(): Promise<boolean> {
    return this.#reads.signed !== null && (await this.#reads.payerCode()) === '0x'
  }

  #note(error: unknown): void {
    // Only a missing answer is a fault. A contract that reverts, runs out of gas or returns garbage fails the verification.
    if (error instanceof NodeFault) this.fault ??= error
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('a verification does not send'))
}
