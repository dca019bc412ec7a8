import { Inject, Injectable } from '@nestjs/common'
import { Chain, Preconfirmed } from '@upfront/chain'
import { CallQueue, passThrough, UpstreamClient } from '@upfront/node'
import { ErrorCode, openRpcDocument, RpcError, toQuantity } from '@upfront/protocol'
import { Driver } from '@upfront/simulation'
import { ENGINE, type EngineChoice } from '../environment/engine-choice.js'
import { Environment } from '../environment/environment.js'
import { READ_METHODS, SHORT_READS } from '../environment/read-methods.js'
import { Positions } from '../pending/positions.js'
import { SimulationBases } from '../pending/simulation-bases.js'
import type { RpcContext, RpcMethod } from '../requests/rpc-method.js'
import { Simulator } from '../simulate/simulator.js'
import { blockMethods } from './block-methods.js'
import { blockTraceMethods } from './block-trace-methods.js'
import { clientVersion, version } from './client-version.js'
import { feeMethods } from './fee-methods.js'
import { filterMethods } from './filter-methods.js'
import { logMethods } from './log-methods.js'
import { presenterMethods } from './presenters/index.js'
import { listOf, timeOf } from './reading.js'
import { sendingMethods } from './sending-methods.js'
import { proofMethods, stateMethods } from './state-methods.js'
import { subscriptionMethods } from './subscription-methods.js'
import { sweepMethod } from './sweep-method.js'
import { traceMethods } from './trace-methods.js'

/** Dependencies of the RPC methods. */
@Injectable()
export class MethodSources {
  constructor(
    readonly environment: Environment,
    readonly simulator: Simulator,
    readonly client: UpstreamClient,
    readonly bases: SimulationBases,
    readonly positions: Positions,
    readonly chain: Chain,
    readonly driver: Driver,
    @Inject(ENGINE) readonly choice: EngineChoice,
    readonly preconfirmed: Preconfirmed,
  ) {}
}

/** All methods of `POST /`, by name. Other names are refused with -32601. */
export function rpcMethods(sources: MethodSources): ReadonlyMap<string, RpcMethod> {
  const { environment, simulator, client, bases, positions, chain, driver, choice, preconfirmed } = sources
  const methods = new Map<string, RpcMethod>()
  for (const name of environment.PASSTHROUGH_METHODS) {
    methods.set(name, async (params, context) => {
      const sender = senderOf(client, name, context)
      context.view.isOfNode = true
      return passThrough(sender, name, listOf(params ?? []), context)
    })
  }
  const sends = environment.SENDING === 'on'
  if (sends) for (const [name, method] of sendingMethods(client)) methods.set(name, method)
  const reading = { bases, chain, driver, simulator, client, sends, preconfirmed }
  for (const reads of [stateMethods, blockMethods, logMethods, feeMethods, proofMethods])
    for (const [name, method] of reads(reading, methods)) methods.set(name, method)
  methods.set('eth_simulateV1', (params, context) =>
    simulator.simulate('eth_simulateV1', params, context, ({ json }) => json),
  )
  methods.set('upfront_simulate', sweepMethod({ simulator, positions, bases, chain }))
  for (const [name, method] of [
    ...presenterMethods(simulator),
    ...traceMethods(reading),
    ...blockTraceMethods({ positions, bases, chain, client, driver }),
  ])
    methods.set(name, method)
  methods.set('eth_chainId', async (_, context) => JSON.stringify(toQuantity((await chain.rules(context)).chainId)))
  methods.set('eth_blockNumber', async (_, context) => {
    const head = await bases.head(context.view, timeOf(context))
    bases.noteBase(head, context.view)
    return JSON.stringify(toQuantity(head.header.number))
  })
  const follows = environment.FOLLOW_HEAD !== 'off'
  const nodeUrls = environment.UPSTREAM_WS_URL ?? []
  for (const [name, method] of subscriptionMethods({ chain, preconfirmed, follows, nodeUrls }))
    methods.set(name, method)
  const filterSources = { chain, follows, nodeUrls, getLogs: methods.get('eth_getLogs') }
  for (const [name, method] of filterMethods(filterSources)) methods.set(name, method)
  methods.set('net_listening', () => 'true')
  methods.set('web3_clientVersion', () => JSON.stringify(clientVersion(choice.engine)))
  const openRpc = JSON.stringify(openRpcDocument({ version, served: [...methods.keys(), 'rpc.discover'] }))
  methods.set('rpc.discover', () => openRpc)
  refuseMoreParams(methods)
  return methods
}

/** A batch's short reads of the node are sent in one request. */
function senderOf(client: UpstreamClient, name: string, context: RpcContext): Pick<UpstreamClient, 'call'> {
  const { view } = context
  if (!view.holdsSeveral || !SHORT_READS.has(name)) return client
  view.together ??= new CallQueue(client, context)
  return view.together
}

/** Adds geth's error for too many parameters. */
function refuseMoreParams(methods: Map<string, RpcMethod>): void {
  for (const [name, { maxParams }] of Object.entries(READ_METHODS)) {
    const method = methods.get(name)
    if (method === undefined || maxParams === undefined) continue
    methods.set(name, (params, context) => {
      if (!Array.isArray(params) || params.length <= maxParams) return method(params, context)
      throw new RpcError(ErrorCode.invalidParams, `too many arguments, want at most ${maxParams}`)
    })
  }
}
