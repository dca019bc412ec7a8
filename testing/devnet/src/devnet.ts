import { createTestClient, http } from 'viem'
import { DEVNET_ROLES } from './accounts.js'
import { type Anvil, startAnvil } from './anvil.js'
import { setL1Fees } from './optimism.js'
import { deployOutcomeGuard } from './outcome-guard.js'
import { deployPayments, PAYMENT_CONTRACTS, type PaymentContracts } from './payments.js'
import { startSequencer } from './sequencer/sequencer.js'
import { deploySystemContracts } from './system-contracts.js'
import { deployUniswap, type UniswapContracts } from './uniswap.js'

export interface DevnetOptions {
  /** 0, the default, takes a free port. */
  port?: number
  /** Address to listen on; 127.0.0.1 unless given. */
  host?: string
  /** Seconds between blocks. Without it a block is made at once for each transaction. */
  blockTimeSeconds?: number
  /** anvil's name of a fork (`osaka`, `prague`, `cancun`, …); anvil's newest unless given. */
  hardfork?: string
  chainId?: number
  /** Whether the payment contracts are put there; true unless given. */
  payments?: boolean
  /** Whether Uniswap v2 and v3 are deployed; false unless given. */
  uniswap?: boolean
  /**
   * Streams the block under construction as flashblocks, on this port (0 takes a free one): see `sequencer/`. Blocks then
   * come every `blockTimeSeconds`, 2 unless given.
   */
  flashblocksPort?: number
  /** OP-stack rules with L1 fees to pay, and a deposit first in each streamed block; its rules are in `OP_GENESIS_FILE`. */
  optimism?: boolean
  /** Further arguments for anvil's command line, last. */
  anvilArgs?: readonly string[]
}

/** A running local chain. */
export interface Devnet extends Anvil {
  chainId: number
  accounts: typeof DEVNET_ROLES
  contracts: PaymentContracts
  /** Present where `uniswap` was asked for. */
  uniswap?: UniswapContracts
  /** Of the stream; present where `flashblocksPort` was given. */
  flashblocksUrl?: string
}

/**
 * Starts a local chain (anvil) with the payment contracts on it and resolves when it can be used.
 * @throws an `Error` with anvil's own words where it can't start.
 */
export async function startDevnet({
  port = 0,
  host = '127.0.0.1',
  blockTimeSeconds,
  hardfork,
  chainId = 31337,
  payments = true,
  uniswap = false,
  flashblocksPort,
  optimism = false,
  anvilArgs = [],
}: DevnetOptions = {}): Promise<Devnet> {
  const anvil = await startAnvil([
    ...['--port', String(port), '--host', host, '--chain-id', String(chainId)],
    // Blocks as large as Base's would be: 60M gas lets one block hold a few 16.7M-gas transactions.
    ...['--gas-limit', '60000000'],
    ...(hardfork === undefined ? [] : ['--hardfork', hardfork]),
    // A flashblock only ever adds to the end of the block: transactions stand as they came.
    ...(flashblocksPort === undefined ? [] : ['--order', 'fifo']),
    ...(optimism ? ['--network', 'optimism'] : []),
    ...anvilArgs,
  ])
  try {
    if (optimism) await setL1Fees(anvil.rpcUrl)
    else await deploySystemContracts(anvil.rpcUrl)
    await deployOutcomeGuard(anvil.rpcUrl)
    const contracts = payments ? await deployPayments(anvil.rpcUrl) : PAYMENT_CONTRACTS
    const deployed = uniswap ? { uniswap: await deployUniswap(anvil.rpcUrl) } : {}
    // Only now: the deployments would wait for a block each.
    const sequencer =
      flashblocksPort === undefined
        ? undefined
        : await startSequencer({
            rpcUrl: anvil.rpcUrl,
            port: flashblocksPort,
            blockTimeMs: (blockTimeSeconds ?? 2) * 1_000,
            optimism,
          })
    if (sequencer === undefined && blockTimeSeconds !== undefined)
      await createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl) }).setIntervalMining({
        interval: blockTimeSeconds,
      })
    return {
      ...anvil,
      chainId,
      accounts: DEVNET_ROLES,
      contracts,
      ...deployed,
      ...(sequencer === undefined ? {} : { flashblocksUrl: sequencer.url }),
      async stop() {
        await sequencer?.stop()
        await anvil.stop()
      },
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}
