import { ErrorCode, RpcError, toQuantity } from '@upfront/protocol'
import type { Environment } from '../environment.js'
import type { Chain } from '../simulate/chain.js'
import { freeLimits, type Simulator } from '../simulate/simulator.js'
import { describeMethods } from './discover.js'
import type { RpcMethod } from './rpc-method.js'

/** Everything that `POST /` serves, by name. What is not in here is -32601. */
export function rpcMethods(
  environment: Environment,
  simulator: Simulator,
  chain: Chain,
  clientVersion: string,
): ReadonlyMap<string, RpcMethod> {
  const limits = freeLimits(environment)
  const passed = environment.PASSTHROUGH_METHODS.map((name): [string, RpcMethod] => [
    name,
    async (params, { signal }) => JSON.stringify((await chain.request(name, positional(params), signal)) ?? null),
  ])
  const methods: Map<string, RpcMethod> = new Map<string, RpcMethod>([
    ...passed,
    ['eth_simulateV1', (params, { dialect, signal }) => simulator.simulate(params, limits, dialect, signal)],
    ['eth_chainId', async (_, { signal }) => JSON.stringify(toQuantity((await chain.rules(signal)).chainId))],
    ['eth_blockNumber', async (_, { signal }) => JSON.stringify(toQuantity((await chain.head(signal)).number))],
    ['web3_clientVersion', () => JSON.stringify(clientVersion)],
    ['rpc.discover', () => openRpc],
  ])
  const openRpc: string = JSON.stringify(describeMethods(methods.keys(), clientVersion))
  return methods
}

function positional(params: unknown): unknown[] {
  if (params === undefined || params === null) return []
  if (Array.isArray(params)) return params
  throw new RpcError(ErrorCode.invalidParams, 'params: expected an array')
}
