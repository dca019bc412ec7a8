import { readFileSync } from 'node:fs'
import { createMerkleProof, MerklePatriciaTrie } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import { hexToBytes } from '@ethereumjs/util'
import { developmentState, GENESIS_FILE, NEVER } from '@upfront/engine-conformance'
import {
  type Address,
  DEFAULT_SIMULATION_LIMITS,
  decodeInspection,
  decodeSimulationRequest,
  type Hash,
  type Hex,
} from '@upfront/protocol'
import { type Engine, pinnedState, ReadBudget, type Simulation } from '@upfront/simulation'
import { x402UptoPermit2ProxyAddress } from '@x402/evm'
import { bytesToHex, keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  authorizationHash,
  DEFAULT_PRICE_LIST,
  gasBesideCalls,
  gasByCall,
  jsonHash,
  meter,
  type PaidExchange,
  ReadingDriver,
  recordReads,
  signReceipt,
  type Witness,
  witnessOf,
} from '../src/index.js'
import { DELIVERY_DOMAIN, DELIVERY_TYPES } from '../src/verify/delivery.js'

export const RECEIPT_KEY = `0x${'42'.repeat(32)}` as const
const account = privateKeyToAccount(RECEIPT_KEY)
const address = (byte: string): Address => `0x${byte.repeat(20)}`
const NETWORK = 'eip155:8453'
const MAXIMUM = 100_000n

export const BUYER_KEY = `0x${'a1'.repeat(32)}` as const
const buyer = privateKeyToAccount(BUYER_KEY)
const URL = 'https://seller.example/v1/simulate?dialect=ethereum&witness=1'

export const authorization = {
  from: buyer.address.toLowerCase() as Address,
  permitted: { token: address('c0'), amount: MAXIMUM.toString() },
  spender: x402UptoPermit2ProxyAddress,
  nonce: '7',
  deadline: '1800000000',
  witness: { to: address('b0'), facilitator: address('fa'), validAfter: '0' },
}
const requirements = {
  scheme: 'upto',
  network: NETWORK,
  amount: MAXIMUM.toString(),
  asset: authorization.permitted.token,
  payTo: authorization.witness.to,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2', facilitatorAddress: address('fa') },
}

const alloc: Record<string, { balance?: Hex; nonce?: Hex; code?: Hex; storage?: Record<Hash, Hash> }> = JSON.parse(
  readFileSync(GENESIS_FILE, 'utf8'),
).alloc

/** The development chain's state as tries, to prove it. */
export class GenesisState {
  readonly #state = new MerklePatriciaTrie({ useKeyHashing: true })
  readonly #storage = new Map<string, MerklePatriciaTrie>()

  async fill(): Promise<this> {
    for (const [name, { balance = '0x0', nonce = '0x0', code = '0x', storage = {} }] of Object.entries(alloc)) {
      const slots = new MerklePatriciaTrie({ useKeyHashing: true })
      for (const [slot, value] of Object.entries(storage))
        if (BigInt(value) !== 0n) await slots.put(hexToBytes(slot as Hex), RLP.encode(BigInt(value)))
      const leaf = [BigInt(nonce), BigInt(balance), slots.root(), hexToBytes(keccak256(code))]
      const key = `0x${name.replace(/^0x/, '').toLowerCase()}` as const
      await this.#state.put(hexToBytes(key), RLP.encode(leaf))
      this.#storage.set(key, slots)
    }
    return this
  }

  get root(): Hash {
    return bytesToHex(this.#state.root())
  }

  /** The trie nodes that prove all accounts and slots of a witness. */
  async nodesFor({ accounts }: Witness): Promise<Hex[]> {
    const nodes = new Set<Hex>()
    const add = async (trie: MerklePatriciaTrie, key: Hex) => {
      for (const node of await createMerkleProof(trie, hexToBytes(key))) nodes.add(bytesToHex(node))
    }
    for (const [name, { storage }] of Object.entries(accounts)) {
      await add(this.#state, name as Hex)
      const slots = this.#storage.get(name)
      if (slots !== undefined) for (const slot of Object.keys(storage)) await add(slots, slot as Hex)
    }
    return [...nodes]
  }
}

/** A request on the development chain. */
export function simulationOf(payload: object, engine: Engine, limits = DEFAULT_SIMULATION_LIMITS): Simulation {
  const { rules, base, state } = developmentState()
  return {
    request: decodeSimulationRequest(JSON.parse(JSON.stringify([payload, 'latest'])), limits),
    base,
    state: pinnedState({ header: base, key: base.hash }),
    rules,
    driver: new ReadingDriver(engine, (reads) => state.read(reads)),
    limits,
    budget: new ReadBudget(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    cancellation: NEVER,
    dialect: 'ethereum',
  }
}

/**
 * Sells one simulation on the development chain, with receipt and witness.
 * @param details options of `upfront_simulate`; without them `eth_simulateV1` is sold
 * @throws what `simulate` throws if it refuses the request
 */
export async function sell(
  payload: object,
  engine: Engine,
  state: GenesisState,
  limits = DEFAULT_SIMULATION_LIMITS,
  details?: object,
): Promise<PaidExchange> {
  const simulation = simulationOf(payload, engine, limits)
  const { rules, base } = simulation
  const method = details === undefined ? 'eth_simulateV1' : 'upfront_simulate'
  const params = JSON.parse(JSON.stringify([{ ...payload, ...details }, 'latest']))
  const inspection = details && decodeInspection(params).inspection
  const values = developmentState().state
  const recorded = await recordReads(simulation, engine, (reads) => values.read(reads), inspection)
  const bare = witnessOf(simulation, recorded, { ancestors: [], nodes: [] })
  const witness = { ...bare, nodes: await state.nodesFor(bare) }
  const { answer } = recorded
  const result = JSON.parse(answer.json.toString())
  const usage = { ...answer.touched, witnessBytes: JSON.stringify(witness).length }
  const { furtherGas = 0n } = answer
  const resultBytes = Buffer.byteLength(JSON.stringify(result))
  const gas = [...gasByCall(result), ...gasBesideCalls(method, { furtherGas, resultBytes })]
  const total = gas.reduce((sum, used) => sum + BigInt(used), 0n)
  const amount = meter({ gas: total, ...usage }, DEFAULT_PRICE_LIST, 6, MAXIMUM).toString()
  const receipt = await signReceipt(
    {
      payer: authorization.from,
      nonce: authorization.nonce,
      authorizationHash: authorizationHash(NETWORK, authorization),
      method,
      dialect: 'ethereum',
      requestHash: jsonHash({ method, params }),
      resultHash: jsonHash(result),
      witnessHash: jsonHash(witness),
      block: {
        chainId: rules.chainId.toString(),
        number: base.number.toString(),
        hash: base.hash,
        state: 'canonical',
        payloadId: '0x',
        flashblock: 0,
        transactions: [],
      },
      usage: { ...usage, gas },
      priceListHash: jsonHash(DEFAULT_PRICE_LIST),
      amount,
      maximum: MAXIMUM.toString(),
      chargedBefore: '0',
      decimals: 6,
      asset: authorization.permitted.token,
      network: NETWORK,
      payTo: authorization.witness.to,
      issuedAt: 1_795_000_000,
    },
    account,
  )
  const charge = {
    amount,
    maximum: MAXIMUM.toString(),
    asset: authorization.permitted.token,
    network: NETWORK,
    usage: { ...usage, gas: total.toString() },
    priceList: DEFAULT_PRICE_LIST,
  }
  const terms = { info: { priceList: DEFAULT_PRICE_LIST, priceListHash: jsonHash(DEFAULT_PRICE_LIST) } }
  const resource = { url: URL, description: 'simulations', mimeType: 'application/json' }
  const exchange = {
    request: { url: URL, body: { jsonrpc: '2.0', id: 1, method, params } },
    answer: { jsonrpc: '2.0', id: 1, result, charge, receipt, witness },
    offer: { x402Version: 2, resource, accepts: [requirements], extensions: { 'charge-terms': terms } },
    payment: {
      x402Version: 2,
      resource,
      accepted: requirements,
      payload: {
        permit2Authorization: authorization,
        signature: await buyer.sign({ hash: authorizationHash(NETWORK, authorization) }),
      },
      extensions: { 'charge-terms': terms },
    },
    settlement: await checkSettlement(amount),
    seller: { receiptKeys: [{ address: receipt.signer }], gasCap: limits.gas.toString() },
    chain: { config: JSON.parse(readFileSync(GENESIS_FILE, 'utf8')).config },
  }
  return JSON.parse(JSON.stringify(exchange))
}

/** A PAYMENT-RESPONSE with x402's delivery receipt, signed by the seller. */
export async function checkSettlement(
  amount: string,
  change: { payer?: Address; network?: string; transaction?: string; success?: boolean } = {},
): Promise<object> {
  const settled = {
    success: true,
    payer: authorization.from,
    network: NETWORK,
    transaction: `0x${'7a'.repeat(32)}`,
    amount,
  }
  const { payer, network, transaction } = { ...settled, ...change }
  const payload = { version: 1, network, resourceUrl: URL, payer, issuedAt: 1_795_000_001, transaction }
  const signature = await account.signTypedData({
    domain: DELIVERY_DOMAIN,
    types: DELIVERY_TYPES,
    primaryType: 'Receipt',
    message: { ...payload, version: 1n, issuedAt: 1_795_000_001n },
  })
  const receipt = { format: 'eip712', payload, signature }
  return { ...settled, ...change, extensions: { 'offer-receipt': { info: { receipt } } } }
}
