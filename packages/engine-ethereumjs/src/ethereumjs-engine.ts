import { readFileSync } from 'node:fs'
import { ErrorCode, RpcError } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import { WorkerPool } from './pool/worker-pool.js'

export interface EthereumJsEngineOptions {
  /** Simulations that run at a time, those that take long not counted; 2 where absent. */
  threads?: number
}

/**
 * The portable engine: EthereumJS in worker threads, under Ethereum's rules from Paris to Osaka.
 * Its `simulate` refuses plans for OP-stack chains with an RpcError.
 */
export function createEthereumJsEngine({ threads = 2 }: EthereumJsEngineOptions = {}): Engine {
  const pool = new WorkerPool(threads)
  return {
    name: 'ethereumjs',
    version: evmVersion(),
    async simulate(plan, state, signal) {
      if (plan.rules.stack !== 'ethereum') {
        throw new RpcError(
          ErrorCode.serverError,
          'the ethereumjs engine has no OP-stack rules: this chain needs the revm engine',
        )
      }
      return pool.run({ plan, state, signal })
    },
    close: () => pool.close(),
  }
}

function evmVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return dependencies['@ethereumjs/evm']
}
