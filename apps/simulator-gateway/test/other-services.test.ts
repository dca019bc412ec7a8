// The methods of other services, held against what these publish: which fields there are, and what stands in them. On one gateway.
import { ask } from './services/stand.js'
import './services/alchemy.js'
import './services/call-bundle.js'
import './services/call-many.js'
import './services/tenderly.js'
import './services/trace-call.js'

it('each of them is in rpc.discover, with an example', async () => {
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
