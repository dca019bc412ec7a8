import type { Hash, Hex } from '@upfront/protocol'

type Viem = Pick<
  typeof import('viem'),
  'decodeErrorResult' | 'decodeFunctionResult' | 'encodeFunctionData' | 'keccak256'
>

/** What a contract is asked and answers, by its ABI. */
export class ContractAbi {
  readonly #viem: Viem
  readonly #abi: unknown

  private constructor(viem: Viem, abi: unknown) {
    this.#viem = viem
    this.#abi = abi
  }

  /** Loads it once, when it is first needed: loading viem takes long. @param source human-readable */
  static of(source: readonly string[]): () => Promise<ContractAbi> {
    let made: Promise<ContractAbi> | undefined
    return () => {
      made ??= import('viem').then((viem) => new ContractAbi(viem, viem.parseAbi(source)))
      return made
    }
  }

  encode(functionName: string, args: readonly unknown[]): Hex {
    return this.#viem.encodeFunctionData({ abi: this.#abi, functionName, args } as never)
  }

  /** Undefined where the data is laid out otherwise. */
  result(functionName: string, data: Hex): unknown {
    try {
      return this.#viem.decodeFunctionResult({ abi: this.#abi, functionName, data } as never)
    } catch {
      return undefined
    }
  }

  /** The arguments of an error of the contract's; undefined where the data is none. */
  errorArguments(data: Hex): readonly unknown[] | undefined {
    try {
      return (this.#viem.decodeErrorResult({ abi: this.#abi, data } as never) as { args?: readonly unknown[] }).args
    } catch {
      return undefined
    }
  }

  keccak256(bytes: Hex): Hash {
    return this.#viem.keccak256(bytes)
  }
}
