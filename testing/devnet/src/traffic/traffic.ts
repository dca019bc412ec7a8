import { concatHex, fromRlp, type Hex, numberToHex, pad, sha256, toRlp } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import {
  childOf,
  create,
  deployedBy,
  deploying,
  FACTORY,
  OBSERVER,
  observe,
  SCRIBBLER,
  scribble,
  WITHDRAWAL_REQUESTS,
} from './programs.js'

const SENDERS = 14
/** The last senders send only blobs, because pools reject blobs of a sender with other pending transactions. */
const BLOB_SENDERS = 2
const SALTS = 6
const SLOTS = 24n
const FUNDS = 10n ** 21n
const GAS_PRICE = 100n * 10n ** 9n

/** A seeded random number generator: Marsaglia's xorshift. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0 || 1
  }

  below(end: number): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return (this.#state >>> 0) % end
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)]!
  }
}

/** A value in the state of a block. */
type StateRead =
  | { kind: 'balance' | 'nonce' | 'code'; address: Hex }
  | { kind: 'storage'; address: Hex; slot: Hex }
  | { kind: 'blockHash'; number: bigint }

type Rpc = <T>(method: string, params: readonly unknown[]) => Promise<T>

/** Random transactions between a few senders and contracts, and the state that they may change. */
export class Traffic {
  readonly #random: Random
  readonly #rpc: Rpc
  readonly #chainId: number
  readonly #owner: PrivateKeyAccount
  readonly #senders: PrivateKeyAccount[]
  readonly contracts: { scribbler: Hex; observer: Hex; factory: Hex }
  readonly #recipients: Hex[]

  constructor(random: Random, rpc: Rpc, chainId: number, ownerKey: Hex) {
    this.#random = random
    this.#rpc = rpc
    this.#chainId = chainId
    this.#owner = privateKeyToAccount(ownerKey)
    this.#senders = Array.from({ length: SENDERS }, (_, n) =>
      privateKeyToAccount(pad(numberToHex(0xca44 + n), { size: 32 })),
    )
    const [scribbler, observer, factory] = [0n, 1n, 2n].map((nonce) => deployedBy(this.#owner.address, nonce)) as [
      Hex,
      Hex,
      Hex,
    ]
    this.contracts = { scribbler, observer, factory }
    this.#recipients = Array.from({ length: 8 }, (_, n) => pad(numberToHex(0xfee0 + n), { size: 20 }))
  }

  /** Deploys the contracts and funds the senders, by transactions for the next block. */
  async begin(): Promise<void> {
    const codes = [SCRIBBLER, OBSERVER, FACTORY].map((code) => ({ data: deploying(code), gas: 3_000_000n }))
    const funds = this.#senders.map(({ address }) => ({ to: address, value: FUNDS, gas: 250_000n }))
    const signed = await Promise.all(
      [...codes, ...funds].map((each, nonce) =>
        this.#owner.signTransaction({ ...each, nonce, chainId: this.#chainId, gasPrice: GAS_PRICE, type: 'legacy' }),
      ),
    )
    for (const raw of signed) await this.#rpc('eth_sendRawTransaction', [raw])
  }

  feeRecipient(): Hex {
    return this.#random.one(this.#recipients)
  }

  withdrawals(from: number) {
    return Array.from({ length: this.#random.below(4) }, (_, n) => ({
      index: numberToHex(from * 16 + n),
      validatorIndex: numberToHex(this.#random.below(100)),
      address: this.#random.one([...this.#recipients, ...this.#senders.map(({ address }) => address)]),
      amount: numberToHex(this.#random.below(3) * 1_000_000),
    }))
  }

  /** Sends transactions for the next block. */
  async send(): Promise<void> {
    for (const [index, sender] of this.#senders.entries()) {
      if (!this.#random.chance(60)) continue
      const nonce = Number(await this.#rpc<Hex>('eth_getTransactionCount', [sender.address, 'pending']))
      const hasBlobs = index >= SENDERS - BLOB_SENDERS
      const raw = await (hasBlobs ? this.#signBlobs(sender, nonce) : this.#sign(sender, nonce))
      // The pool may reject it after a reorganisation, or if a delegated sender has a pending one.
      await this.#rpc('eth_sendRawTransaction', [raw]).catch(() => undefined)
    }
  }

  async #sign(sender: PrivateKeyAccount, nonce: number): Promise<Hex> {
    const random = this.#random
    const { to, data = '0x', value = 0n } = this.call()
    const common = { to, data, value, nonce, chainId: this.#chainId, gas: 400_000n }
    const fees = { maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: BigInt(1 + random.below(1_000)) }
    const kind = random.below(10)
    if (kind < 2) return sender.signTransaction({ ...common, gasPrice: GAS_PRICE, type: 'legacy' })
    if (kind < 4) {
      const accessList = [{ address: to, storageKeys: [pad(numberToHex(random.below(Number(SLOTS))), { size: 32 })] }]
      return sender.signTransaction({ ...common, gasPrice: GAS_PRICE, accessList, type: 'eip2930' })
    }
    if (kind < 6) {
      const authority = random.one(this.#senders.slice(0, 4))
      const own = authority.address === sender.address
      const known = Number(await this.#rpc<Hex>('eth_getTransactionCount', [authority.address, 'latest']))
      const address = random.chance(30) ? ZERO : random.one([this.contracts.scribbler, this.contracts.observer])
      const authorization = await authority.signAuthorization({
        ...{ chainId: this.#chainId, address, nonce: own ? nonce + 1 : known },
      })
      return sender.signTransaction({ ...common, ...fees, authorizationList: [authorization], type: 'eip7702' })
    }
    return sender.signTransaction({ ...common, ...fees, type: 'eip1559' })
  }

  /** Like `#sign`, with empty blobs. @returns the network encoding, with blobs and proofs (EIP-7594) */
  async #signBlobs(sender: PrivateKeyAccount, nonce: number): Promise<Hex> {
    const { to, data = '0x', value = 0n } = this.call()
    const blobs: Hex[] = Array(1 + this.#random.below(3)).fill(EMPTY_BLOB)
    const signed = await sender.signTransaction({
      ...{ type: 'eip4844', to, data, value, nonce, chainId: this.#chainId, gas: 400_000n },
      ...{ maxFeePerGas: GAS_PRICE, maxPriorityFeePerGas: BigInt(1 + this.#random.below(1_000)) },
      ...{ maxFeePerBlobGas: GAS_PRICE, blobVersionedHashes: blobs.map(() => EMPTY_BLOB_HASH) },
    })
    const transaction = fromRlp(`0x${signed.slice('0x03'.length)}`)
    const proofs = Array(blobs.length * CELLS).fill(INFINITY)
    return concatHex(['0x03', toRlp([transaction, '0x01', blobs, blobs.map(() => INFINITY), proofs])])
  }

  /** A call for a transaction or a simulation. */
  call(): { to: Hex; data?: Hex; value?: bigint } {
    const random = this.#random
    const slot = () => BigInt(random.below(Number(SLOTS)))
    const delegated = this.#senders.slice(0, 4).map(({ address }) => address)
    switch (random.below(8)) {
      case 0:
        return { to: random.one([...this.#recipients, ...delegated]), value: BigInt(random.below(1_000)) }
      case 1:
        return { to: this.contracts.observer, data: observe(SLOTS + slot() * 4n, random.below(6)) }
      case 2:
      case 3:
        return {
          to: this.contracts.factory,
          data: create(random.below(SALTS), random.chance(70)),
          value: BigInt(random.below(3)),
        }
      case 4:
        return { to: childOf(this.contracts.factory, random.below(SALTS)), value: BigInt(random.below(5)) }
      case 5:
        return { to: WITHDRAWAL_REQUESTS, data: `0x${'ab'.repeat(48)}0000000000000001`, value: 1_000n }
      default: {
        const pairs = Array.from({ length: 1 + random.below(5) }, () => [slot(), BigInt(random.below(4))] as const)
        return {
          to: random.one([this.contracts.scribbler, this.contracts.scribbler, ...delegated]),
          data: scribble(pairs),
        }
      }
    }
  }

  sender(): Hex {
    return this.#random.one(this.#senders).address
  }

  /** Values in the state of a block that its chain may have changed. */
  reads(count: number, block: { number: bigint; timestamp: bigint }): StateRead[] {
    return Array.from({ length: count }, () => this.#read(block))
  }

  #read({ number, timestamp }: { number: bigint; timestamp: bigint }): StateRead {
    const random = this.#random
    const { scribbler, observer, factory } = this.contracts
    const children = Array.from({ length: SALTS }, (_, salt) => childOf(factory, salt))
    const senders = this.#senders.map(({ address }) => address)
    const storage = (address: Hex, slot: bigint): StateRead => ({
      ...{ kind: 'storage', address: lower(address), slot: pad(numberToHex(slot), { size: 32 }) },
    })
    const back = BigInt(random.below(8))
    switch (random.below(9)) {
      case 0:
        return storage(random.one(children), BigInt(random.below(3)))
      case 1:
        return storage(observer, BigInt(random.below(Number(SLOTS) * 5 + 4)))
      case 2:
        return storage(random.one(senders.slice(0, 4)), BigInt(random.below(Number(SLOTS))))
      case 3:
        return storage(BEACON_ROOTS, ((timestamp + 8191n - back) % 8191n) + (random.chance(50) ? 8191n : 0n))
      case 4:
        return storage(HISTORY, (number - 1n - back + 8191n) % 8191n)
      case 5:
        return storage(WITHDRAWAL_REQUESTS, BigInt(random.below(12)))
      case 6: {
        const address = lower(random.one([...children, ...senders, ...this.#recipients, scribbler, factory]))
        return { kind: random.one(['balance', 'nonce', 'code'] as const), address }
      }
      case 7:
        if (number > back) return { kind: 'blockHash', number: number - back }
    }
    return storage(scribbler, BigInt(random.below(Number(SLOTS))))
  }
}

const EMPTY_BLOB = pad('0x', { size: 131_072 })
const CELLS = 128
/** The commitment to an empty blob and all of its proofs: a compressed BLS12-381 point. */
const INFINITY = pad('0xc0', { size: 48, dir: 'right' })
const EMPTY_BLOB_HASH: Hex = `0x01${sha256(INFINITY).slice(4)}`

const ZERO: Hex = '0x0000000000000000000000000000000000000000'
const BEACON_ROOTS: Hex = '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'
const HISTORY: Hex = '0x0000f90827f1c53a10cb7a02335b175320002935'

function lower(address: Hex): Hex {
  return address.toLowerCase() as Hex
}
