import { setImmediate } from 'node:timers/promises'
import { Inject, Injectable } from '@nestjs/common'
import { decodeBytes, malformed, runInSlices, UpstreamClient, unwrapOutcome } from '@upfront/node'
import {
  type BlockHeader,
  blockHeaderToRpc,
  ErrorCode,
  type Hex,
  type Inspection,
  RpcError,
  toQuantity,
} from '@upfront/protocol'
import {
  decodeWitness,
  type Proofs,
  prove,
  type ReceiptBlock,
  type RecordedReads,
  recordReads,
  witnessJson,
  witnessOf,
} from '@upfront/receipt'
import { Driver, headerFromRpc, type Simulation, type SimulationAnswer, type StateRead } from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../environment/engine-choice.js'

/** Fits the proof of an account with some thousand slots. */
const PROOF_BYTES = 32 * 1024 * 1024
const BLOCK_BYTES = 8 * 1024 * 1024
/** Proofs per request to the node. A proof is a few kilobytes: the answer must not take long to parse. */
const PROOFS_PER_BATCH = 128

interface Sold {
  answer: Pick<SimulationAnswer, 'json'>
  block: Pick<ReceiptBlock, 'state'>
}

/** Makes witnesses of simulations: the values that they read, with the node's proofs. */
@Injectable()
export class WitnessMaker {
  constructor(
    @Inject(ENGINE) private readonly choice: EngineChoice,
    private readonly driver: Driver,
    private readonly client: UpstreamClient,
  ) {}

  /**
   * Simulates again, recording every read. Long witnesses are written in turns with other work.
   * @param sold the outcome that the second run must reproduce
   * @param inspection requested in addition to the outcome
   * @returns the witness as JSON
   * @throws or rejects with what `recordReads` throws; RpcError if the state has changed
   */
  async of(
    simulation: Simulation,
    { answer, block: { state } }: Sold,
    inspection: Inspection | undefined,
  ): Promise<Buffer> {
    const read = (reads: readonly StateRead[]) => this.driver.read(reads, simulation.state, simulation)
    const recorded = await recordReads(simulation, this.choice.engine, read, inspection)
    if (recorded.answer.json.toString() !== answer.json.toString())
      throw new RpcError(ErrorCode.serverError, 'the state changed while its witness was made: send the request again')
    const witness = witnessOf(simulation, recorded, await this.proofs(simulation, recorded, state))
    return runInSlices(witnessJson(witness), simulation.cancellation)
  }

  /** Verified proofs, or the reason why there are none. */
  private async proofs(simulation: Simulation, recorded: RecordedReads, state: ReceiptBlock['state']): Promise<Proofs> {
    const none = (unproven: string) => ({ ancestors: [], nodes: [], unproven: unproven.slice(0, 300) })
    if (state !== 'canonical') return none(`no header commits to ${state} state yet`)
    const { signal } = simulation.cancellation
    let nodes: Hex[]
    let ancestors: BlockHeader[]
    try {
      nodes = await this.nodes(simulation, recorded)
      ancestors = await this.ancestors(simulation, recorded)
    } catch {
      signal.throwIfAborted()
      return none('the node has no proofs for this block')
    }
    try {
      const values = witnessOf(simulation, recorded, { ancestors: [], nodes: [] })
      const used = await prove({ ...decodeWitness(values), ancestors, nodes }, async () => {
        await setImmediate()
        signal.throwIfAborted()
      })
      return { ancestors: ancestors.map(blockHeaderToRpc), nodes: used }
    } catch (error) {
      signal.throwIfAborted()
      return none(`the node's proofs are not valid: ${(error as Error).message}`)
    }
  }

  private async nodes(
    { base, cancellation, budget: { deadline } }: Simulation,
    { values }: RecordedReads,
  ): Promise<Hex[]> {
    const slots = new Map<string, string[]>()
    for (const [read] of values) {
      if (read.kind === 'blockHash') continue
      const ofAccount = slots.get(read.address) ?? []
      if (read.kind === 'storage') ofAccount.push(read.slot)
      slots.set(read.address, ofAccount)
    }
    const asked = [...slots].flatMap(([address, keys]) =>
      Array.from({ length: Math.max(1, Math.ceil(keys.length / PROOFS_PER_BATCH)) }, (_, part) => ({
        address,
        keys: keys.slice(part * PROOFS_PER_BATCH, (part + 1) * PROOFS_PER_BATCH),
      })),
    )
    const nodes = new Set<Hex>()
    while (asked.length > 0) {
      const batch = asked.splice(0, 1)
      for (let proofs = batch[0]!.keys.length + 1; asked[0] !== undefined; ) {
        proofs += asked[0].keys.length + 1
        if (proofs > PROOFS_PER_BATCH) break
        batch.push(asked.shift()!)
      }
      const proofs = await this.client.batch(
        batch.map(({ address, keys }) => ({
          method: 'eth_getProof',
          params: [address, keys, toQuantity(base.number)],
          decode: nodesIn,
          maxBytes: PROOF_BYTES,
          attempts: 1,
        })),
        { signal: cancellation.signal, deadline },
      )
      for (const node of proofs.flatMap(unwrapOutcome)) nodes.add(node)
    }
    return [...nodes]
  }

  /** The headers from the base's parent down to the child of the oldest block whose hash was read. */
  private async ancestors(
    { base, cancellation, budget: { deadline } }: Simulation,
    { values }: RecordedReads,
  ): Promise<BlockHeader[]> {
    let oldest = base.number - 1n
    for (const [read] of values) if (read.kind === 'blockHash' && read.number < oldest) oldest = read.number
    const headers = await this.client.batch<BlockHeader>(
      Array.from({ length: Number(base.number - 1n - oldest) }, (_, index) => ({
        method: 'eth_getBlockByNumber',
        params: [toQuantity(base.number - 1n - BigInt(index)), false],
        decode: headerFromRpc,
        maxBytes: BLOCK_BYTES,
      })),
      { signal: cancellation.signal, deadline },
    )
    return headers.map(unwrapOutcome)
  }
}

/** The trie nodes in an answer to `eth_getProof`. */
function nodesIn(result: unknown): Hex[] {
  const { accountProof, storageProof } = (result ?? {}) as Record<string, unknown>
  if (!Array.isArray(accountProof) || !Array.isArray(storageProof)) throw malformed('a proof', result)
  return [...accountProof, ...storageProof.flatMap((slot: { proof?: unknown }) => slot?.proof ?? [])].map(decodeBytes)
}
