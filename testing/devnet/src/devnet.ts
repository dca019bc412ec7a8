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
  /** 0, the default, uses a free port. */
  port?: number
  /** Address to listen on; default 127.0.0.1. */
  host?: string
  /** Seconds between blocks. By default each transaction is mined at once in a block of its own. */
  blockTimeSeconds?: number
  /** A fork by anvil's name (`osaka`, `prague`, `cancun`, …); default anvil's newest. */
  hardfork?: string
  chainId?: number
  /** Whether to deploy the payment contracts; default true. */
  payments?: boolean
  /** Whether to deploy Uniswap v2 and v3; default false. */
  uniswap?: boolean
  /**
   * Streams the block under construction as flashblocks on this port (0 uses a free one): see
   * `sequencer/`. The default for `blockTimeSeconds` is then 2.
   */
  flashblocksPort?: number
  /** OP-stack rules with L1 fees, and a leading deposit in each streamed block. The rules are in `OP_GENESIS_FILE`. */
  optimism?: boolean
  /** Further command-line arguments for anvil, appended last. */
  anvilArgs?: readonly string[]
}

/** A running local chain. */
export interface Devnet extends Anvil {
  chainId: number
  accounts: typeof DEVNET_ROLES
  contracts: PaymentContracts
  /** Present if `uniswap` is set. */
  uniswap?: UniswapContracts
  /** URL of the stream; present if `flashblocksPort` is set. */
  flashblocksUrl?: string
}

/**
 * Starts a local chain (anvil) with the payment contracts, and resolves when it is ready.
 * @throws Error with anvil's output, if it can't start
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
    // Large blocks as on Base: with 60M gas a block holds a few 16.7M-gas transactions.
    ...['--gas-limit', '60000000'],
    ...(hardfork === undefined ? [] : ['--hardfork', hardfork]),
    // Flashblocks only append to the block, so transactions must stay in order of arrival.
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
    // Started last, because each deployment would wait for a block.
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
