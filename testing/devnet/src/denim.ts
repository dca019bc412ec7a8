import { setTimeout as sleep } from 'node:timers/promises'
import { createTestClient, type Hex, http, numberToHex, publicActions } from 'viem'
import { L1_BLOCK } from './optimism.js'
import { rawDeposit } from './sequencer/node-block.js'

/** Base's BaseTime: stores the milliseconds of the block's time that its header lacks. */
export const BASE_TIME = '0x4200000000000000000000000000000000000030'
/** `setTimestampMillisPart(uint16)`; any other call returns slot 0. */
const BASE_TIME_CODE = '0x5f3560e01c6386bdf394146016575f545f5260205ff35b6004355f5500'
const SET_PART = '0x86bdf394'
const BLOCK_MS = 200n
/** More than a block's first deposit uses, less than both together. */
const FIRST_DEPOSIT_GAS = 30_000n

/** anvil's pool accepts one transaction per sender and nonce, and treats a deposit's nonce as 0. So each kind alternates two senders. */
const DEPOSITORS = {
  attributes: ['0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001', '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0002'],
  baseTime: ['0xdeaddeaddeaddeaddeaddeaddeaddeaddead0003', '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0004'],
} as const

export interface DenimBlocks {
  /** Time of the genesis block, seconds. Block n is made 200 n milliseconds later. */
  genesisTime: bigint
  /** Resolves when no more blocks are made. */
  stop(): Promise<void>
}

/**
 * Makes an anvil in Optimism mode produce blocks like Base after Denim: five per second, each with two leading deposits, the second of
 * which stores the block's milliseconds. The chain must be at its genesis block, with `--no-mining --order fifo`.
 */
export async function startDenimBlocks(
  rpcUrl: string,
  onError: (error: Error) => void = () => {},
): Promise<DenimBlocks> {
  const client = createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).extend(publicActions)
  const genesis = await client.getBlock({ blockNumber: 0n })
  await client.setCode({ address: BASE_TIME, bytecode: BASE_TIME_CODE })
  const genesisMs = genesis.timestamp * 1_000n

  /** Sent before the previous block is sealed, with so much gas that they only fit as the first two. */
  async function leaveDeposits(number: bigint): Promise<void> {
    const turn = Number(number % 2n)
    const part = (genesisMs + BLOCK_MS * number) % 1_000n
    await send(DEPOSITORS.attributes[turn], L1_BLOCK, number * 2n, genesis.gasLimit, '0x')
    const data: Hex = `${SET_PART}${numberToHex(part, { size: 32 }).slice(2)}`
    await send(DEPOSITORS.baseTime[turn], BASE_TIME, number * 2n + 1n, genesis.gasLimit - FIRST_DEPOSIT_GAS, data)
  }

  async function send(from: string | undefined, to: string, sequence: bigint, gas: bigint, input: Hex): Promise<void> {
    const serializedTransaction = rawDeposit(from, to, sequence + 1n, numberToHex(gas), input)
    await client.sendRawTransaction({ serializedTransaction })
  }

  async function make(number: bigint): Promise<void> {
    await leaveDeposits(number + 1n)
    await client.setNextBlockTimestamp({ timestamp: (genesisMs + BLOCK_MS * number) / 1_000n })
    await client.mine({ blocks: 1 })
  }

  let stopped = false
  const making = (async () => {
    const begun = Date.now()
    await leaveDeposits(1n)
    for (let number = 1n; !stopped; number++) {
      await make(number)
      await sleep(begun + Number(BLOCK_MS * number) - Date.now())
    }
  })().catch(onError)
  return {
    genesisTime: genesis.timestamp,
    async stop() {
      stopped = true
      await making
    },
  }
}
