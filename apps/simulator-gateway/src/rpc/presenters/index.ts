import type { RpcMethod } from '../../requests/rpc-method.js'
import type { Simulator } from '../../simulate/simulator.js'
import { alchemyMethods } from './alchemy.js'
import { bundleMethods } from './call-bundle.js'
import { callManyMethods } from './call-many.js'
import { estimateMethods } from './estimate-gas.js'
import { Recorder } from './recorder.js'
import { tenderlyMethods } from './tenderly.js'
import { traceMethods } from './trace-call.js'
import { userOperationMethods } from './user-operation.js'

/** Methods of other services and nodes, and of user operations. Each presents one recorded `upfront_simulate`. */
export function presenterMethods(simulator: Simulator): [string, RpcMethod][] {
  const recorder = new Recorder(simulator)
  const made = [
    alchemyMethods,
    tenderlyMethods,
    callManyMethods,
    traceMethods,
    bundleMethods,
    userOperationMethods,
    estimateMethods,
  ]
  return made.flatMap((make) => make(recorder))
}
