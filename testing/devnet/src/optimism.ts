import { fileURLToPath } from 'node:url'
import { createTestClient, type Hex, http } from 'viem'

/** Rules of the local chain in Optimism mode as a geth genesis file, for `CHAIN_GENESIS_FILE`. */
export const OP_GENESIS_FILE = fileURLToPath(new URL('../op-genesis.json', import.meta.url))

/** The predeploy from which OP-stack blocks read their L1 fees. */
export const L1_BLOCK = '0x4200000000000000000000000000000000000015'

const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`

/** L1 fees of a busy day: base fee 20 gwei, blob base fee 1 gwei, scalars 1,368 and 810,949 (Ecotone's packed slot 3). */
const L1_FEE_SLOTS: [slot: bigint, value: bigint][] = [
  [1n, 20_000_000_000n],
  [7n, 1_000_000_000n],
  [3n, (1_368n << 96n) | (810_949n << 64n)],
]

/** Sets L1 fees on the local chain, because anvil's chains have none. */
export async function setL1Fees(rpcUrl: string): Promise<void> {
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  for (const [slot, value] of L1_FEE_SLOTS)
    await client.setStorageAt({ address: L1_BLOCK, index: word(slot), value: word(value) })
}
