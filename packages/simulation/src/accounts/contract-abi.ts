import type { Hash, Hex } from '@upfront/protocol'

type Viem = Pick<
  typeof import('viem'),
  'decodeErrorResult' | 'decodeFunctionResult' | 'encodeFunctionData' | 'keccak256'
>

/** Encodes calls and decodes results and errors by a contract's ABI. */
export class ContractAbi {
  readonly #viem: Viem
  readonly #abi: unknown

  private constructor(viem: Viem, abi: unknown) {
    this.#viem = viem
    this.#abi = abi
  }

  /** Returns a loader that parses the ABI on first use, because loading viem is slow. @param source human-readable ABI */
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

  /** Returns undefined if the data does not match the ABI. */
  result(functionName: string, data: Hex): unknown {
    try {
      return this.#viem.decodeFunctionResult({ abi: this.#abi, functionName, data } as never)
    } catch {
      return undefined
    }
  }

  /** The arguments of one of the contract's errors; undefined if the data is none of them. */
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
