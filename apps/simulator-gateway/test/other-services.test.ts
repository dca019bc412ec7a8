// Methods of other services on one gateway, compared with the fields and values that these services document.
import { ask } from './services/stand.js'
import './services/alchemy.js'
import './services/call-bundle.js'
import './services/call-many.js'
import './services/tenderly.js'
import './services/trace-call.js'

it('rpc.discover lists the methods of other services, each with an example', async () => {
  const { methods } = await ask('rpc.discover')
  const byName = new Map(methods.map((method: { name: string; examples?: unknown[] }) => [method.name, method]))
  for (const name of [
    ...[
      'alchemy_simulateAssetChanges',
      'alchemy_simulateAssetChangesBundle',
      'alchemy_simulateExecution',
      'alchemy_simulateExecutionBundle',
    ],
    ...[
      'tenderly_simulateTransaction',
      'tenderly_simulateBundle',
      'tenderly_estimateGas',
      'tenderly_estimateGasBundle',
    ],
    ...['eth_callMany', 'debug_traceCallMany', 'trace_call', 'trace_callMany', 'eth_callBundle'],
  ])
    expect([name, byName.get(name)]).toMatchObject([name, { examples: [{}] }])
})
