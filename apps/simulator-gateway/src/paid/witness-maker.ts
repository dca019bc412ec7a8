import { Inject, Injectable } from '@nestjs/common'
import { headerFromRpc } from '@upfront/head'
import { decodeBytes, malformed, UpstreamClient } from '@upfront/node'
import { type BlockHeader, blockHeaderToRpc, ErrorCode, type Hex, RpcError, toQuantity } from '@upfront/protocol'
import {
  decodeWitness,
  type Proofs,
  prove,
  type ReceiptBlock,
  recordReads,
  type Witness,
  witnessOf,
} from '@upfront/receipt'
import { Driver, type Simulation, type SimulationAnswer, type StateRead, type StateValue } from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../chain/engine-choice.js'

/** Of an account with some thousand slots. */
const PROOF_BYTES = 32 * 1024 * 1024
const BLOCK_BYTES = 8 * 1024 * 1024

/** Makes the witnesses of simulations: what they read, with the node's proofs of it. */
@Injectable()
export class WitnessMaker {
  constructor(
    @Inject(ENGINE) private readonly choice: EngineChoice,
    private readonly driver: Driver,
    private readonly client: UpstreamClient,
  ) {}

  /**
   * Simulates once more, as nothing else tells what was read.
   * @param answer which it has to come to again
   * @throws or rejects with what `recordReads` does; RpcError where the state moved meanwhile
   */
  async of(simulation: Simulation, answer: SimulationAnswer, { state }: ReceiptBlock): Promise<Witness> {
    const recorded = await recordReads(simulation, this.choice.engine, (reads) =>
      this.driver.read(reads, simulation.state, simulation),
    )
    if (recorded.answer.json.toString() !== answer.json.toString())
      throw new RpcError(ErrorCode.serverError, 'the state moved while its witness was made: ask again')
    const witness = (proofs: Proofs) => witnessOf(simulation, recorded, proofs)
    const none = (unproven: string) => witness({ ancestors: [], nodes: [], unproven })
    if (state !== 'canonical') return none(`no header commits to ${state} state yet`)
    let proven: Witness
    try {
      proven = witness(await this.proofs(simulation, recorded.values))
    } catch {
      simulation.cancellation.signal.throwIfAborted()
      return none('the node gives no proofs of this block')
    }
    try {
      return { ...proven, nodes: await prove(decodeWitness(JSON.parse(JSON.stringify(proven)))) }
    } catch (error) {
      return none(`the node's proofs do not fit: ${(error as Error).message}`)
    }
  }

  private async proofs(
    { base, cancellation, budget: { deadline } }: Simulation,
    values: readonly (readonly [StateRead, StateValue])[],
  ): Promise<Proofs> {
    const limits = { signal: cancellation.signal, deadline }
    const slots = new Map<string, string[]>()
    let oldest = base.number - 1n
    for (const [read] of values) {
      if (read.kind === 'blockHash') {
        if (read.number < oldest) oldest = read.number
        continue
      }
      const ofAccount = slots.get(read.address) ?? []
      if (read.kind === 'storage') ofAccount.push(read.slot)
      slots.set(read.address, ofAccount)
    }
    const proofs = await this.client.batch(
      [...slots].map(([address, keys]) => ({
        method: 'eth_getProof',
        params: [address, keys, toQuantity(base.number)],
        decode: nodesIn,
        maxBytes: PROOF_BYTES,
        attempts: 1,
      })),
      limits,
    )
    const headers = await this.client.batch<BlockHeader>(
      Array.from({ length: Number(base.number - 1n - oldest) }, (_, index) => ({
        method: 'eth_getBlockByNumber',
        params: [toQuantity(base.number - 1n - BigInt(index)), false],
        decode: headerFromRpc,
        maxBytes: BLOCK_BYTES,
      })),
      limits,
    )
    return {
      nodes: [...new Set(proofs.flatMap(settled))],
      ancestors: headers.map((outcome) => blockHeaderToRpc(settled(outcome))),
    }
  }
}

function settled<T>(outcome: { value: T } | { error: Error }): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** The trie nodes of an answer to `eth_getProof`. */
function nodesIn(result: unknown): Hex[] {
  const { accountProof, storageProof } = (result ?? {}) as Record<string, unknown>
  if (!Array.isArray(accountProof) || !Array.isArray(storageProof)) throw malformed('a proof', result)
  return [...accountProof, ...storageProof.flatMap((slot: { proof?: unknown }) => slot?.proof ?? [])].map(decodeBytes)
}
