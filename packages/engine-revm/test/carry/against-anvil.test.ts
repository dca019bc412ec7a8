import { readFileSync } from 'node:fs'
import {
  type Devnet,
  deployedBy,
  deploying,
  OP_GENESIS_FILE,
  Random,
  SCRIBBLER,
  scribble,
  startDevnet,
} from '@upfront/devnet'
import { CallQueue, UpstreamClient } from '@upfront/node'
import type { Address, Hash } from '@upfront/protocol'
import {
  type CarryEvent,
  chainRulesFromGenesis,
  Driver,
  pinnedState,
  ReadBudget,
  type SealedBlock,
  StateCarrier,
  type StateRead,
} from '@upfront/simulation'
import { numberToHex, pad } from 'viem'
import { BUILDS } from '../builds.js'
import { sealedBlock } from './follower.js'

const BLOCKS = 25
const L1_FEE_VAULT: Address = '0x420000000000000000000000000000000000001a'
const BASE_FEE_VAULT: Address = '0x4200000000000000000000000000000000000019'
const RECIPIENT: Address = '0x00000000000000000000000000000000000c0ffe'

describe.each(BUILDS)('state carried over blocks of anvil under OP-stack rules, on the %s build', (_build, create) => {
  let node: Devnet
  beforeAll(async () => {
    node = await startDevnet({ optimism: true, payments: false, anvilArgs: ['--no-mining', '--order', 'fifo'] })
  })
  afterAll(() => node.stop())

  it('equals the node’s state at each block, L1 fees included, through reorganisations', async () => {
    const random = new Random(17)
    const client = new UpstreamClient({ urls: [node.rpcUrl] })
    const engine = create({ threads: 2 })
    const driver = new Driver(engine, client, new CallQueue(client))
    // anvil leaves Jovian's DA footprint out of its headers.
    const { config } = JSON.parse(readFileSync(OP_GENESIS_FILE, 'utf8'))
    const rules = chainRulesFromGenesis({ config: { ...config, jovianTime: undefined } })
    const events: CarryEvent[] = []
    const carrier = new StateCarrier({
      ...{ rules, engine, driver, intervalMs: () => 60_000 },
      observe: (event) => events.push(event),
    })
    const rpc = async <T>(method: string, params: readonly unknown[]): Promise<T> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(node.rpcUrl, { method: 'POST', headers, body })
      const answer = (await response.json()) as { result: T; error?: { message: string } }
      if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
      return answer.result
    }
    const senders = (await rpc<Address[]>('eth_accounts', [])).slice(0, 5)
    const nonce = BigInt(await rpc<Hash>('eth_getTransactionCount', [senders[0], 'latest']))
    const scribbler = deployedBy(senders[0]!, nonce).toLowerCase() as Address
    const reads: StateRead[] = [
      ...[...senders, RECIPIENT, scribbler, L1_FEE_VAULT, BASE_FEE_VAULT].flatMap((address): StateRead[] => [
        { kind: 'balance', address: address.toLowerCase() as Address },
        { kind: 'nonce', address: address.toLowerCase() as Address },
      ]),
      ...Array.from({ length: 8 }, (_, slot): StateRead => {
        return { kind: 'storage', address: scribbler, slot: pad(numberToHex(slot), { size: 32 }) }
      }),
      { kind: 'code', address: scribbler },
    ]
    const at = ({ header }: SealedBlock) => pinnedState({ header, key: header.hash })
    const limits = () => ({
      budget: new ReadBudget(1_000, performance.now() + 30_000),
      cancellation: { signal: new AbortController().signal },
    })
    const check = async (block: SealedBlock) => {
      const truth = await driver.readAtNode(reads, at(block), limits())
      const known = engine.known(block.header.hash, reads)
      expect(known.map((value, index) => value ?? truth[index])).toEqual(truth)
      return known.filter((value) => value !== undefined).length
    }
    const fees = { gas: '0x61a80', maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' }
    const send = async () => {
      const from = random.one(senders)
      const pairs = [[BigInt(random.below(8)), BigInt(random.below(5))]] as const
      const call = random.chance(50) ? { to: RECIPIENT, value: '0x7' } : { to: scribbler, data: scribble(pairs) }
      await rpc('eth_sendTransaction', [{ from, ...call, ...fees }])
    }

    const chain: SealedBlock[] = [await client.call(sealedBlock('latest'))]
    await driver.read(reads, at(chain[0]!), limits())
    await rpc('eth_sendTransaction', [{ from: senders[0], data: deploying(SCRIBBLER), ...fees }])
    const snapshots = [await rpc<string>('evm_snapshot', [])]
    let reorganised = 0
    for (let made = 0; made < BLOCKS; made++) {
      for (let count = random.below(5); count > 0; count--) await send()
      await rpc('evm_mine', [])
      const block = await client.call(sealedBlock('latest'))
      await carrier.prepare(block, chain.at(-1))
      const { kind, detail } = events.at(-1) as CarryEvent & { detail?: string }
      expect({ kind, detail }).toEqual({ kind: 'carried' })
      chain.push(block)
      expect(await check(block)).toBe(reads.length)
      snapshots.push(await rpc('evm_snapshot', []))
      if (made > 6 && random.chance(25)) {
        const depth = 1 + random.below(4)
        chain.length -= depth
        snapshots.length -= depth
        await rpc('evm_revert', [snapshots.at(-1)])
        snapshots[snapshots.length - 1] = await rpc('evm_snapshot', [])
        await rpc('anvil_dropAllTransactions', [])
        // Another time gives another block with the same transactions.
        await rpc('evm_increaseTime', [numberToHex(1 + random.below(5))])
        reorganised++
      }
    }
    expect(reorganised).toBeGreaterThan(1)
    const [fee] = engine.known(chain.at(-1)!.header.hash, [{ kind: 'balance', address: L1_FEE_VAULT }])
    expect(fee).toBeGreaterThan(0n)
    carrier.close()
    await engine.close()
    await client.close()
  })
})
