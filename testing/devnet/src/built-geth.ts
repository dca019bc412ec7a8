import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Hex, parseTransaction } from 'viem'
import { GETH_GENESIS, GETH_START_TIMEOUT_MS, runGeth } from './geth-process.js'
import { freePort } from './postgres.js'
import { rpc } from './rpc.js'

const BUILDING_MS = 60

/** Block attributes from the consensus layer. Quantities in hex. */
export interface BuiltBlock {
  feeRecipient: string
  withdrawals: readonly { index: string; validatorIndex: string; address: string; amount: string }[]
}

/** A geth whose consensus layer is the test: blocks are made on request. */
export interface BuiltGeth {
  rpcUrl: string
  wsUrl: string
  rpc<T>(method: string, params: readonly unknown[]): Promise<T>
  /** Makes a block on the head. Resolves with its hash. */
  build(block: BuiltBlock): Promise<string>
  /** The access list of an Amsterdam block made here (EIP-7928), in RLP. */
  accessList(block: string): Hex | undefined
  stop(): Promise<void>
}

interface Payload {
  blockHash: string
  transactions: Hex[]
  /** Since Amsterdam. */
  blockAccessList?: Hex
}

/**
 * Starts an archive geth that makes blocks through the Engine API.
 * @param genesis with Cancun's or later rules from its first block on
 * @throws Error if it does not start
 */
export async function startBuiltGeth(path: string, genesis = GETH_GENESIS): Promise<BuiltGeth> {
  const [http, ws, auth] = [await freePort(), await freePort(), await freePort()]
  const { child, folder, stop } = runGeth(path, genesis, [
    ...['--networkid=1337', '--syncmode=full', `--authrpc.port=${auth}`, '--verbosity=1'],
    ...['--http', `--http.port=${http}`, '--http.api=eth,debug', '--rpc.batch-request-limit=5000'],
    ...['--ws', `--ws.port=${ws}`, '--ws.api=eth', '--miner.recommit=10s', '--miner.gasprice=1'],
    ...['--txpool.pricelimit=1', '--txpool.accountslots=1000', '--txpool.globalslots=100000'],
    '--txpool.accountqueue=1000',
  ])
  const rpcUrl = `http://127.0.0.1:${http}`
  const ask: BuiltGeth['rpc'] = (method, params) => rpc(rpcUrl, method, params)
  const engine = <T>(method: string, params: readonly unknown[]) =>
    rpc<T>(`http://127.0.0.1:${auth}`, method, params, { authorization: `Bearer ${tokenOf(folder)}` })
  const until = Date.now() + GETH_START_TIMEOUT_MS
  for (;;) {
    const chainId = await ask<string>('eth_chainId', []).catch(() => undefined)
    if (chainId !== undefined) break
    if (Date.now() > until || child.exitCode !== null) {
      await stop()
      throw new Error('geth did not start')
    }
    await sleep(50)
  }
  let made = 0
  const accessLists = new Map<string, Hex>()
  return {
    ...{ rpcUrl, rpc: ask, stop },
    wsUrl: `ws://127.0.0.1:${ws}`,
    accessList: (block) => accessLists.get(block),
    async build({ feeRecipient, withdrawals }) {
      const head = await ask<{ hash: string; timestamp: string }>('eth_getBlockByNumber', ['latest', false])
      // Different each time, so that two blocks with the same parent differ.
      const word = `0x${(++made).toString(16).padStart(64, '0')}`
      const timestamp = Number(head.timestamp) + 1 + (made % 3)
      const isAmsterdam = isActive('amsterdamTime', genesis, timestamp)
      const [forkchoice, getPayload, newPayload] = methodsAt(genesis, timestamp)
      const attributes = {
        timestamp: `0x${timestamp.toString(16)}`,
        prevRandao: word,
        suggestedFeeRecipient: feeRecipient,
        withdrawals,
        parentBeaconBlockRoot: word,
        ...(isAmsterdam && { slotNumber: `0x${made.toString(16)}`, targetGasLimit: '0x3938700' }),
      }
      const state = { headBlockHash: head.hash, safeBlockHash: ZERO, finalizedBlockHash: ZERO }
      const { payloadId } = await engine<{ payloadId: string | null }>(forkchoice, [state, attributes])
      if (payloadId === null) throw new Error('geth builds no block')
      const { executionPayload, executionRequests } = await built(() => engine(getPayload, [payloadId]))
      const blobs = executionPayload.transactions.flatMap(blobHashes)
      const requests = isActive('pragueTime', genesis, timestamp) ? [executionRequests] : []
      await engine(newPayload, [executionPayload, blobs, word, ...requests])
      const { blockHash, blockAccessList } = executionPayload
      if (blockAccessList !== undefined) accessLists.set(blockHash, blockAccessList)
      await engine(forkchoice, [{ ...state, headBlockHash: blockHash }, null])
      return blockHash
    },
  }
}

function isActive(time: string, { config }: typeof GETH_GENESIS, timestamp: number): boolean {
  return config[time] !== undefined && timestamp >= Number(config[time])
}

/** The Engine API methods for a block with this timestamp: https://github.com/ethereum/execution-apis/tree/main/src/engine */
function methodsAt(genesis: typeof GETH_GENESIS, timestamp: number) {
  if (isActive('amsterdamTime', genesis, timestamp))
    return ['engine_forkchoiceUpdatedV4', 'engine_getPayloadV6', 'engine_newPayloadV5'] as const
  if (isActive('osakaTime', genesis, timestamp))
    return ['engine_forkchoiceUpdatedV3', 'engine_getPayloadV5', 'engine_newPayloadV4'] as const
  if (isActive('pragueTime', genesis, timestamp))
    return ['engine_forkchoiceUpdatedV3', 'engine_getPayloadV4', 'engine_newPayloadV4'] as const
  return ['engine_forkchoiceUpdatedV3', 'engine_getPayloadV3', 'engine_newPayloadV3'] as const
}

const ZERO = `0x${'0'.repeat(64)}`

function blobHashes(transaction: Hex): readonly Hex[] {
  if (!transaction.startsWith('0x03')) return []
  return parseTransaction(transaction as `0x03${string}`).blobVersionedHashes ?? []
}

/** geth first builds an empty block, then one with the pool's transactions. If asked too early, it returns the empty one. */
async function built(get: () => Promise<{ executionPayload: Payload; executionRequests: string[] }>) {
  await sleep(BUILDING_MS)
  return get()
}

/** The Engine API's bearer token, made with the secret in geth's folder. */
function tokenOf(folder: string): string {
  const secret = Buffer.from(readFileSync(join(folder, 'geth/jwtsecret'), 'utf8').trim().slice(2), 'hex')
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ iat: Math.floor(Date.now() / 1000) })}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
