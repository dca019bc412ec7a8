import { createTestClient, http } from 'viem'
import { readArtifact } from './artifact.js'

/**
 * Deploys the contracts of EIP-4788, 2935, 7002 and 7251 at their addresses. Real chains have them from genesis or by a transaction, but
 * anvil omits them; without the last two, blocks since Prague are invalid.
 */
export async function deploySystemContracts(rpcUrl: string): Promise<void> {
  const test = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  for (const { address, code } of readArtifact('SystemContracts').contracts)
    await test.setCode({ address, bytecode: code })
}
