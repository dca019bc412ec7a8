import { readFileSync } from 'node:fs'
import { ErrorCode, RpcError } from '@upfront/protocol'
import {
  type BlockStretch,
  type ChainRules,
  type Engine,
  type PreconfirmationExecutor,
  type SimulationOutcome,
  type SimulationPlan,
  SimulationRejected,
  StretchRejected,
} from '@upfront/simulation'
import type { Answer, SentOutcome } from './pool/messages.js'
import { WorkerPool } from './pool/worker-pool.js'

export interface EthereumJsEngineOptions {
  /** Threads that simulations share; 2 where absent. */
  threads?: number
}

export interface EthereumJsEngine extends Engine, PreconfirmationExecutor {
  readonly name: 'ethereumjs'
}

/**
 * The portable engine: EthereumJS in worker threads, under Ethereum's rules from Paris to Osaka. It refuses OP-stack chains
 * with an RpcError.
 */
export function createEthereumJsEngine({ threads = 2 }: EthereumJsEngineOptions = {}): EthereumJsEngine {
  const pool = new WorkerPool(threads)
  let layers = 0
  return {
    name: 'ethereumjs',
    version: evmVersion(),
    async simulate(plan, state, signal) {
      refuseOptimism(plan.rules)
      const answer = await pool.run({ work: { kind: 'simulate', plan }, state, signal })
      if (answer.kind !== 'simulated') throw failure(answer)
      return withCalls(answer.outcome, plan)
    },
    async execute(stretch, state, signal) {
      refuseOptimism(stretch.rules)
      const answer = await pool.run({ work: { kind: 'execute', stretch, validation: true }, state, signal })
      if (answer.kind !== 'executed') throw failure(answer)
      const { changes: accounts, ...executed } = answer.executed
      return { ...executed, layer: { id: `ethereumjs ${++layers}`, accounts } }
    },
    async warm(stretch, state, signal) {
      refuseOptimism(stretch.rules)
      const alone = (raw: BlockStretch['transactions'][number]) => ({
        ...stretch,
        transactions: [raw],
        earlierReceipts: [],
      })
      await Promise.allSettled(
        stretch.transactions.map((raw) =>
          pool.run({ work: { kind: 'execute', stretch: alone(raw), validation: false }, state, signal }),
        ),
      )
      signal.throwIfAborted()
    },
    close: () => pool.close(),
  }
}

function refuseOptimism({ stack }: ChainRules): void {
  if (stack === 'ethereum') return
  throw new RpcError(
    ErrorCode.serverError,
    'the ethereumjs engine has no OP-stack rules: this chain needs the revm engine',
  )
}

function failure(answer: Answer): Error {
  switch (answer.kind) {
    case 'simulationRejected':
      return new SimulationRejected(answer.code, answer.message, answer.block, answer.call)
    case 'stretchRejected':
      return new StretchRejected(answer.message, answer.transaction)
    case 'failed':
      return Object.assign(new Error(answer.message), { stack: answer.stack })
    default:
      return new Error(`the worker answered "${answer.kind}" to another question`)
  }
}

function withCalls({ blocks, touched }: SentOutcome, plan: SimulationPlan): SimulationOutcome {
  return {
    touched,
    blocks: blocks.map((block, index) => ({
      ...block,
      transactions: block.transactions.map((sent, position) => ({
        ...sent,
        call: plan.blocks[index]!.calls[position]!,
      })),
    })),
  }
}

function evmVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return dependencies['@ethereumjs/evm']
}
