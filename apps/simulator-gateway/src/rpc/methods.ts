import type { ChainState } from '@upfront/chain-state'
import { ErrorCode, openRpcDocument, RpcError, toQuantity } from '@upfront/protocol'
import type { Engine } from '@upfront/simulation'
import type { ServedChain } from '../chain/served-chain.js'
import type { Environment } from '../environment/environment.js'
import type { Preconfirmed } from '../pending/preconfirmed.js'
import { freeLimits, type Simulator } from '../simulate/simulator.js'
import { clientVersion, version } from './client-version.js'
import { pendingMethods } from './pending-methods.js'
import type { RpcMethod } from './rpc-method.js'

/** Everything that `POST /` serves, by name. What is not in here is -32601. */
export function rpcMethods(
  environment: Environment,
  simulator: Simulator,
  chain: ChainState,
  served: ServedChain,
  engine: Engine,
  preconfirmed: Preconfirmed,
): ReadonlyMap<string, RpcMethod> {
  const limits = freeLimits(environment)
  const methods = new Map<string, RpcMethod>()
  for (const name of environment.PASSTHROUGH_METHODS) {
    methods.set(name, async (params, context) =>
      JSON.stringify((await chain.passThrough(name, positional(params), context)) ?? null),
    )
  }
  if (preconfirmed.enabled) {
    const gasCap = BigInt(environment.FREE_GAS_CAP)
    for (const [name, method] of pendingMethods({ preconfirmed, chain, served, engine, gasCap }, methods))
      methods.set(name, method)
  }
  methods.set('eth_simulateV1', (params, context) => simulator.answer(params, limits, context))
  methods.set('eth_chainId', async (_, context) => JSON.stringify(toQuantity((await served.rules(context)).chainId)))
  methods.set('eth_blockNumber', async (_, context) => JSON.stringify(toQuantity((await chain.head(context)).number)))
  methods.set('web3_clientVersion', () => JSON.stringify(clientVersion(engine)))
  const openRpc = JSON.stringify(openRpcDocument({ version, passedUpstream: environment.PASSTHROUGH_METHODS }))
  methods.set('rpc.discover', () => openRpc)
  return methods
}

function positional(params: unknown): unknown[] {
  if (params === undefined || params === null) return []
  if (Array.isArray(params)) return params
  throw new RpcError(ErrorCode.invalidParams, 'params: expected an array')
}
