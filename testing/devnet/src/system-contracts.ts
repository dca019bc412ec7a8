import { createTestClient, http } from 'viem'
import { readArtifact } from './artifact.js'

/**
 * Puts the contracts of EIP-4788, 2935, 7002 and 7251 at their addresses. Real chains have them by their genesis or a
 * transaction, anvil leaves them out; without the last two no block of Prague or later is valid.
 */
export async function deploySystemContracts(rpcUrl: string): Promise<void> {
  const test = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  for (const { address, code } of readArtifact('SystemContracts').contracts)
    await test.setCode({ address, bytecode: code })
}
