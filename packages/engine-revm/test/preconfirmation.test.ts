import {
  drive,
  NEVER,
  type RecordedAccount,
  recordedJson,
  StateValues,
  valueOfAccounts,
} from '@upfront/engine-conformance'
import { type Address, type BlockHeader, blockHeaderFromRpc, ZERO_HASH } from '@upfront/protocol'
import {
  type BlockEnvironment,
  type BlockExecution,
  type BlockExecutionResult,
  chainRulesFromGenesis,
  type ExecutedReceipt,
  ExecutionRejected,
  type PreconfirmedTransaction,
  presentPendingBlock,
  presentPendingReceipts,
  rulesAt,
  type StateLayer,
} from '@upfront/simulation'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'
import { signedBytes } from './signed-bytes.js'

type Accounts = Record<string, RecordedAccount>
type RpcBlock = Record<string, unknown> & { transactions: unknown[] }

describe.each(BUILDS)(
  'a chain that op-geth built, executed again from its genesis, on the %s build',
  (_build, create) => {
    const load = (name: string) => recordedJson('conformance-op', 'chain', name)
    let engine: RevmEngine

    beforeAll(() => {
      engine = create()
    })

    afterAll(() => engine.close())

    /** Executes on the genesis block, under `layers`. */
    async function execute(
      execution: BlockExecution,
      layers: readonly StateLayer[] = [],
    ): Promise<BlockExecutionResult> {
      const headers: BlockHeader[] = load('blocks.json').map(blockHeaderFromRpc)
      const state = new StateValues(
        valueOfAccounts(load('genesis.json').alloc, (number) => headers[Number(number)]?.hash),
      )
      const at = { key: headers[0]!.hash, layers: [...layers] }
      await Promise.all(execution.transactions.map((raw) => drive(engine.prefetch(raw, execution, at, NEVER), state)))
      return drive(engine.execute(execution, at, NEVER), state)
    }

    it('gives the same blocks, receipts and head state as op-geth', async () => {
      const blocks: RpcBlock[] = load('blocks.json')
      const receipts: object[][] = load('receipts.json')
      const genesis = load('genesis.json')
      const rules = chainRulesFromGenesis(genesis)
      const headers = blocks.map(blockHeaderFromRpc)
      const layers: StateLayer[] = []
      for (const [number, header] of headers.entries()) {
        if (number === 0) continue
        const block = environment(header, rulesAt(rules, header.number, header.timestamp))
        const raw = blocks[number]?.transactions.map(signedBytes) ?? []
        // Like flashblocks: the deposits first, then the rest.
        const parts = [raw.slice(0, 1), raw.slice(1)]
        let earlierReceipts: ExecutedReceipt[] = []
        const transactions: PreconfirmedTransaction[] = []
        let executed: BlockExecutionResult | undefined
        for (const [part, given] of parts.entries()) {
          const execution = { rules, block, opening: part === 0, transactions: given, earlierReceipts }
          executed = await execute(execution, layers)
          transactions.push(...executed.transactions)
          earlierReceipts = [...earlierReceipts, ...executed.receipts]
          layers.push(...executed.layers)
        }
        const { withdrawalsRoot = ZERO_HASH } = header
        const shown = {
          hash: header.hash,
          environment: block,
          receipts: earlierReceipts,
          transactions,
          withdrawalsRoot,
        }
        const pending = { ...executed!, ...shown }
        expect(JSON.parse(JSON.stringify(presentPendingReceipts(pending)))).toEqual(receipts[number])
        const { size: _, stateRoot: __, ...known } = presentPendingBlock(pending, false)
        expect(blocks[number]).toMatchObject({ ...known, transactions: blocks[number]!.transactions })
        expect(known.transactions).toEqual(receipts[number]!.map((each) => Object(each).transactionHash))
        for (const field of ['requestsHash', 'withdrawalsRoot', 'parentBeaconBlockRoot', 'blobGasUsed'])
          expect(known).toHaveProperty(field)
      }
      const head: Accounts = load('head-state.json')
      const end = flattened(genesis.alloc, layers)
      for (const [address, account] of Object.entries(head)) {
        expect({ address, ...end(address as Address) }).toEqual({ address, ...normal(account) })
      }
    })

    it('refuses an invalid transaction, and names its index in the block', async () => {
      const blocks: { transactions: unknown[] }[] = load('blocks.json')
      const headers = blocks.map(blockHeaderFromRpc)
      const rules = chainRulesFromGenesis(load('genesis.json'))
      const header = headers.at(-1) as BlockHeader
      const block = environment(header, rulesAt(rules, header.number, header.timestamp))
      const [deposit = '0x', signed = '0x'] = blocks.at(-1)?.transactions.map(signedBytes) ?? []
      const execution = { rules, block, opening: true, transactions: [deposit, signed], earlierReceipts: [] }
      const refused = execute(execution)
      await expect(refused).rejects.toThrow(ExecutionRejected)
      await expect(refused).rejects.toMatchObject({ transaction: 1, message: expect.stringContaining('nonce') })
      const garbled = { ...execution, transactions: ['0x02c0' as const] }
      const refusal = execute(garbled)
      await expect(refusal).rejects.toMatchObject({ transaction: 0 })
    })
  },
)

function environment(header: BlockHeader, rules: BlockEnvironment['rules'] | undefined): BlockEnvironment {
  if (rules === undefined) throw new Error('unknown rules')
  return {
    number: header.number,
    timestamp: header.timestamp,
    parentHash: header.parentHash,
    gasLimit: header.gasLimit,
    feeRecipient: header.miner,
    prevRandao: header.mixHash,
    baseFeePerGas: header.baseFeePerGas ?? 0n,
    extraData: header.extraData,
    excessBlobGas: header.excessBlobGas ?? 0n,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? ZERO_HASH,
    rules,
  }
}

function normal(account: RecordedAccount | undefined) {
  const slots = Object.entries(account?.storage ?? {}).filter(([, value]) => value !== ZERO_HASH)
  return {
    balance: BigInt(account?.balance ?? 0),
    nonce: BigInt(account?.nonce ?? 0),
    code: account?.code ?? '0x',
    storage: Object.fromEntries(slots.sort()),
  }
}

function flattened(alloc: Accounts, layers: readonly StateLayer[]) {
  return (address: Address) => {
    const account = normal(alloc[address] ?? alloc[address.slice(2)])
    for (const layer of layers) {
      const change = layer.accounts.get(address)
      if (change === undefined) continue
      account.balance = change.balance ?? account.balance
      account.nonce = change.nonce ?? account.nonce
      account.code = change.code ?? account.code
      const storage = new Map(change.storageCleared ? [] : Object.entries(account.storage))
      for (const [slot, value] of change.storage) storage.set(slot, value)
      account.storage = Object.fromEntries([...storage].filter(([, value]) => value !== ZERO_HASH).sort())
    }
    return account
  }
}
