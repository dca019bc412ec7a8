import { type Devnet, type DevnetOptions, OP_GENESIS_FILE, startDevnet } from '@upfront/devnet'
import { createPublicClient, createWalletClient, type Hex, http, type PublicClient } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { type AnswerState, answerStateFromHeader, STATE_HEADER } from '../src/pending/answer-state.js'
import { type GatewayProcess, startGateway } from './gateway-process.js'

/** viem polls for a receipt every four seconds by default. */
const POLLING_MS = 100

export interface PreconfirmedStand {
  devnet: Devnet
  gateway: GatewayProcess
  /** Clients of the gateway and of its node. */
  client: PublicClient
  node: PublicClient
  /** Calls the gateway. @returns the result and the state that it was read from */
  ask<T>(method: string, params: unknown[]): Promise<{ result: T; answerState: AnswerState | undefined }>
  /** Injects a fault into the stream, once. */
  inject(fault: string): Promise<void>
  stop(): Promise<void>
}

/** A local chain that streams its next block, and a gateway that follows the stream. */
export async function startStand(
  options: DevnetOptions = {},
  environment: Record<string, string> = {},
): Promise<PreconfirmedStand> {
  const devnet = await startDevnet({ flashblocksPort: 0, blockTimeSeconds: 2, payments: false, ...options })
  const stream = devnet.flashblocksUrl as string
  const gateway = await startGateway({
    UPSTREAM_RPC_URL: devnet.rpcUrl,
    FLASHBLOCKS_WS_URL: stream,
    EVM_ENGINE: 'native',
    ...(options.optimism ? { CHAIN_GENESIS_FILE: OP_GENESIS_FILE } : {}),
    ...environment,
  })
  const ask = async <T>(method: string, params: unknown[]) => {
    const response = await gateway.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
    if (error) throw new Error(`${method}: ${error.message}`)
    const header = response.headers.get(STATE_HEADER)
    return { result, answerState: header ? answerStateFromHeader(header) : undefined }
  }
  await until(async () => (await ask('eth_getBlockByNumber', ['pending', false])).answerState?.kind === 'preconfirmed')
  return {
    devnet,
    gateway,
    client: createPublicClient({ chain: foundry, transport: http(gateway.url), pollingInterval: POLLING_MS }),
    node: createPublicClient({
      chain: foundry,
      transport: http(devnet.rpcUrl),
      cacheTime: 0,
      pollingInterval: POLLING_MS,
    }),
    ask,
    async inject(fault) {
      const response = await fetch(`${stream.replace('ws:', 'http:')}/inject?fault=${fault}`, { method: 'POST' })
      if (!response.ok) throw new Error(`the sequencer refused ${fault}`)
    },
    async stop() {
      await gateway.stop()
      await devnet.stop()
    },
  }
}

/** Signs with one of the chain's funded accounts and sends to the node, not to the gateway. */
export function send(
  stand: PreconfirmedStand,
  privateKey: Hex,
  transaction: { to: Hex; value?: bigint; data?: Hex; gas: bigint; nonce?: number },
): Promise<Hex> {
  const account = privateKeyToAccount(privateKey)
  const wallet = createWalletClient({ account, chain: foundry, transport: http(stand.devnet.rpcUrl) })
  return wallet.sendTransaction(transaction)
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 30))
}
