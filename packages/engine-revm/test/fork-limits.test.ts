import {
  developmentBase,
  developmentRules,
  developmentState,
  drive,
  NEVER,
  NOBODY,
  tracesOf,
  underLayers,
} from '@upfront/engine-conformance'
import type { Address, Hash } from '@upfront/protocol'
import { type EthereumFork, ExecutionRejected, rulesAt, type StateLayer } from '@upfront/simulation'
import { privateKeyToAccount } from 'viem/accounts'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

const SENDER = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const funded: StateLayer = {
  id: 'funded',
  accounts: new Map([
    [SENDER.address.toLowerCase() as Address, { balance: 10n ** 20n, storageCleared: false, storage: new Map() }],
  ]),
}
const BLOB: Hash = `0x01${'00'.repeat(31)}`
/** A time within each fork on the development chain, in seconds. */
const TIMES: Partial<Record<EthereumFork, bigint>> = { shanghai: 1_500n, cancun: 2_500n, prague: 3_500n, osaka: 4_500n }

describe.each(BUILDS)('limits and prices of forks, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = create()
  })
  afterAll(() => engine.close())

  const withBlobs = async (fork: 'prague' | 'osaka', blobs: number) => {
    const timestamp = TIMES[fork]!
    const raw = await SENDER.signTransaction({
      ...{ type: 'eip4844', chainId: 7357, nonce: 0, to: NOBODY, gas: 21_000n, maxFeePerGas: 1_000n },
      ...{ maxPriorityFeePerGas: 0n, maxFeePerBlobGas: 1_000n, blobVersionedHashes: Array(blobs).fill(BLOB) },
    })
    const { number, gasLimit, miner, mixHash, hash, excessBlobGas = 0n } = developmentBase
    const execution = {
      rules: developmentRules,
      block: {
        ...{ number: number + 1n, timestamp, gasLimit, parentHash: hash, excessBlobGas, baseFeePerGas: 7n },
        ...{ feeRecipient: miner, prevRandao: mixHash, extraData: '0x' as const, parentBeaconBlockRoot: hash },
        rules: rulesAt(developmentRules, number + 1n, timestamp)!,
      },
      ...{ opening: true, transactions: [raw], earlierReceipts: [] },
    }
    return drive(engine.execute(execution, underLayers(funded), NEVER), developmentState().state)
  }

  it.each([
    ['prague', 7, true],
    ['prague', 9, true],
    ['prague', 10, false],
    ['osaka', 6, true],
    // EIP-7594: six per transaction, although the block has room for nine.
    ['osaka', 7, false],
  ] as const)('%s accepts a transaction with %i blobs: %s', async (fork, blobs, isTaken) => {
    const executed = withBlobs(fork, blobs)
    if (isTaken) expect((await executed).receipts).toMatchObject([{ succeeded: true }])
    else await expect(executed).rejects.toBeInstanceOf(ExecutionRejected)
  })

  it.each([
    ['PUSH0 before Shanghai', 500n, '5f'],
    ['TLOAD before Cancun', TIMES.shanghai!, '60005c'],
    ['MCOPY before Cancun', TIMES.shanghai!, '6000600060005e'],
    ['CLZ before Osaka', TIMES.prague!, '60011e'],
    ['SLOTNUM before Amsterdam', TIMES.osaka!, '4b'],
    ['DUPN before Amsterdam', TIMES.osaka!, '6001e600'],
  ])('shows gas cost 0 for an opcode of a later fork: %s', async (_what, timestamp, code) => {
    const baseState = developmentState({ ...developmentBase, timestamp })
    const config = { stateOverrides: { [NOBODY]: { code: `0x${code}` } } }
    const [{ result }] = (await tracesOf(engine, { to: NOBODY, gas: '0x186a0' }, [config], baseState)) as [
      { result: { failed: boolean; structLogs: { gasCost: number }[] } },
    ]
    expect(result.failed).toBe(true)
    expect(result.structLogs.at(-1)).toMatchObject({ gasCost: 0 })
  })
})
