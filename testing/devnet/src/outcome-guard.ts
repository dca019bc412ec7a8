import { createTestClient, getCreate2Address, http, pad } from 'viem'
import { readArtifact } from './artifact.js'

/** Deploys the outcome guard, which enforces previews, at its usual address: `packages/simulation/contracts/OutcomeGuard.sol`. */
export async function deployOutcomeGuard(rpcUrl: string): Promise<void> {
  const { bytecode, deployedBytecode } = readArtifact('OutcomeGuard')
  const from = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
  const address = getCreate2Address({ from, salt: pad('0x', { size: 32 }), bytecode })
  await createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).setCode({ address, bytecode: deployedBytecode })
}
