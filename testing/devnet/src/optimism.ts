import { fileURLToPath } from 'node:url'
import { createTestClient, type Hex, http } from 'viem'

/** The rules of the local chain in Optimism mode, in geth's genesis format: for `CHAIN_GENESIS_FILE`. */
export const OP_GENESIS_FILE = fileURLToPath(new URL('../op-genesis.json', import.meta.url))

/** The predeploy that OP-stack blocks read their L1 fees from. */
export const L1_BLOCK = '0x4200000000000000000000000000000000000015'

const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`

/** L1 fees as on a busy day: base fee 20 gwei, blob base fee 1 gwei, scalars 1,368 and 810,949 (Ecotone's packed slot 3). */
const L1_FEE_SLOTS: [slot: bigint, value: bigint][] = [
  [1n, 20_000_000_000n],
  [7n, 1_000_000_000n],
  [3n, (1_368n << 96n) | (810_949n << 64n)],
]

/** Gives the local chain L1 fees to charge: a chain of anvil's has none. */
export async function setL1Fees(rpcUrl: string): Promise<void> {
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
  for (const [slot, value] of L1_FEE_SLOTS)
    await client.setStorageAt({ address: L1_BLOCK, index: word(slot), value: word(value) })
}
