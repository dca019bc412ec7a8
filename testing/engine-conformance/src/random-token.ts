import type { Address, Hex } from '@upfront/protocol'

const TRANSFER = 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3efn
const TRANSFER_SINGLE = 0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62n
const TRANSFER_BATCH = 0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fbn
const SENDER: Address = `0xa${'0'.repeat(39)}`
const NOBODY = 0n
const PEOPLE = [0xb00100n, 0xb00200n, 0xb00300n]
const IDS = [1n, 2n, 3n]
/** Slot of the factor in the views of a rebasing token. */
const FACTOR_SLOT = 0xffffn
const WORD = (1n << 256n) - 1n

/** Behaviour of a token's views. Reverting, gas-burning, too short and huge answers don't count. */
const VIEWS = ['honest', 'honest', 'honest', 'rebasing', 'constant', 'reverting', 'short', 'huge', 'burning'] as const
type View = (typeof VIEWS)[number]

/** One call of a token: writes slots and emits logs, which may contradict them. */
export interface TokenCall {
  /** The transfers in its logs, in order; empty if it fails. */
  told: ToldTransfer[]
  /** Results of the views before and after; undefined if they don't count. Keyed by account, id, or both. */
  before: (key: bigint) => bigint | undefined
  after: (key: bigint) => bigint | undefined
  call: { from: Address; to: Address; gas: Hex; input?: Hex }
}

export interface ToldTransfer {
  type: 'erc20' | 'erc721' | 'erc1155'
  /** Absent for ERC-20. */
  id?: bigint
  from: bigint
  to: bigint
  amount: bigint
}

/** A seeded random token, and the effects of its calls. */
export class RandomToken {
  readonly address: Address
  readonly calls: TokenCall[] = []
  readonly #view: View
  readonly #slots = new Map<bigint, bigint>([[FACTOR_SLOT, 1n]])
  readonly #code: number[] = []
  readonly #initial: Record<Hex, Hex>
  readonly #next: () => number

  constructor(index: number, random: () => number) {
    this.#next = random
    this.address = addressOf(0x70_0000n + BigInt(index))
    this.#view = this.#pick(VIEWS)
    for (const key of keys()) if (this.#chance(0.5)) this.#slots.set(key, BigInt(this.#below(1_000)))
    for (const id of IDS) this.#slots.set(id, this.#pick([...PEOPLE, NOBODY]))
    this.#initial = Object.fromEntries([...this.#slots].map(([key, value]) => [hash(key), hash(value)]))
    const bodies = Array.from({ length: 1 + this.#below(3) }, (_, at) => this.#body(at))
    this.#code = this.#program(bodies)
  }

  get override(): { code: Hex; state: Record<Hex, Hex> } {
    return { code: `0x${Buffer.from(this.#code).toString('hex')}`, state: this.#initial }
  }

  #answer(slots: ReadonlyMap<bigint, bigint>, key: bigint): bigint | undefined {
    const value = slots.get(key) ?? 0n
    switch (this.#view) {
      case 'honest':
        return value
      case 'rebasing':
        return (value * (slots.get(FACTOR_SLOT) ?? 0n)) & WORD
      case 'constant':
        return 7n
      default:
        return undefined
    }
  }

  /** Code of one call, selected by the length of its input. */
  #body(at: number): number[] {
    const slots = new Map(this.#slots)
    const made: TokenCall = {
      told: [],
      before: (key) => this.#answer(slots, key),
      after: (key) => this.#answer(after, key),
      call: { from: SENDER, to: this.address, gas: '0xf4240', ...inputOf(at) },
    }
    const fails = this.#chance(0.1)
    const code: number[] = []
    for (let left = 1 + this.#below(5); left > 0; left--) this.#step(code, made)
    code.push(...(fails ? this.#pick([[0x60, 0, 0x60, 0, 0xfd], [0xfe]]) : [0x00]))
    if (fails) {
      this.#slots.clear()
      for (const [key, value] of slots) this.#slots.set(key, value)
      made.told.length = 0
    }
    const after = new Map(this.#slots)
    this.calls.push(made)
    return code
  }

  #step(code: number[], made: TokenCall): void {
    const [from, to] = [this.#pick([...PEOPLE, NOBODY]), this.#pick([...PEOPLE, NOBODY])]
    const [id, amount] = [this.#pick(IDS), BigInt(this.#below(50))]
    // An honest token moves what it logs; others log more, less, or nothing.
    const moved = this.#pick([amount, amount, amount, 0n, amount + 1n])
    const isTold = this.#chance(0.85)
    switch (this.#below(5)) {
      case 0:
        this.#move(code, from, to, moved)
        if (!isTold) return
        made.told.push({ type: 'erc20', from, to, amount })
        log(code, [TRANSFER, from, to], [amount])
        break
      case 1:
        if (this.#chance(0.8)) this.#store(code, id, to)
        if (!isTold) return
        made.told.push({ type: 'erc721', id, from, to, amount: 1n })
        log(code, [TRANSFER, from, to, id], [])
        break
      case 2:
        this.#move(code, from, to, moved, id)
        if (!isTold) return
        made.told.push({ type: 'erc1155', id, from, to, amount })
        log(code, [TRANSFER_SINGLE, 0n, from, to], [id, amount])
        break
      case 3: {
        const count = this.#below(4)
        const ids = Array.from({ length: count }, () => this.#pick(IDS))
        const amounts = ids.map(() => BigInt(this.#below(50)))
        for (const [index, each] of ids.entries())
          this.#move(code, from, to, this.#chance(0.8) ? amounts[index]! : 0n, each)
        const isMisshapen = this.#chance(0.1)
        const words = [...ids, BigInt(amounts.length + (isMisshapen ? 1 : 0)), ...amounts]
        for (const [index, each] of isMisshapen ? [] : ids.entries())
          made.told.push({ type: 'erc1155', id: each, from, to, amount: amounts[index]! })
        log(code, [TRANSFER_BATCH, 0n, from, to], [64n, 64n + 32n * BigInt(count + 1), BigInt(count), ...words])
        break
      }
      default:
        this.#store(code, FACTOR_SLOT, BigInt(this.#below(3)))
        break
    }
  }

  #move(code: number[], from: bigint, to: bigint, amount: bigint, id = 0n): void {
    if (from !== NOBODY) this.#store(code, from + id, (this.#slots.get(from + id) ?? 0n) - amount)
    if (to !== NOBODY) this.#store(code, to + id, (this.#slots.get(to + id) ?? 0n) + amount)
  }

  #store(code: number[], key: bigint, value: bigint): void {
    this.#slots.set(key, value & WORD)
    code.push(...push(value & WORD), ...push(key), 0x55)
  }

  /** Views take 36 or 68 bytes of input, call 0 takes none, and call n takes 100 + n bytes. Anything else reverts. */
  #program(bodies: number[][]): number[] {
    const views = [
      [0x60, 4, 0x35, ...this.#viewCode()],
      [0x60, 4, 0x35, 0x60, 36, 0x35, 0x01, ...this.#viewCode()],
    ]
    const parts = [...views.map((code, index) => [36 + 32 * index, code] as const)]
    const all = [...parts, ...bodies.map((code, index) => [index === 0 ? 0 : 100 + index, code] as const)]
    const head = all.length * 10 + 5
    const starts: number[] = []
    let at = head
    for (const [, code] of all) {
      starts.push(at)
      at += code.length + 1
    }
    const dispatch = all.flatMap(([size], index) => [
      ...[0x36, 0x61, size >> 8, size & 0xff, 0x14],
      ...[0x61, starts[index]! >> 8, starts[index]! & 0xff, 0x57, 0x5b],
    ])
    return [...dispatch, 0x60, 0, 0x60, 0, 0xfd, ...all.flatMap(([, code]) => [0x5b, ...code])]
  }

  /** Returns the value of the slot on the stack. */
  #viewCode(): number[] {
    const answer = (size: number[]) => [0x60, 0, 0x52, ...size, 0x60, 0, 0xf3]
    switch (this.#view) {
      case 'honest':
        return [0x54, ...answer([0x60, 32])]
      case 'rebasing':
        return [0x54, ...push(FACTOR_SLOT), 0x54, 0x02, ...answer([0x60, 32])]
      case 'constant':
        return [0x50, 0x60, 7, ...answer([0x60, 32])]
      case 'reverting':
        return [0x54, 0x60, 0, 0x52, 0x60, 32, 0x60, 0, 0xfd]
      case 'short':
        return [0x54, ...answer([0x60, 31])]
      case 'huge':
        return [0x54, ...answer([0x62, 0x03, 0, 0])]
      case 'burning':
        return [0x5b, 0x58, 0x60, 1, 0x90, 0x03, 0x56]
    }
  }

  #below(bound: number): number {
    return Math.floor(this.#next() * bound)
  }

  #chance(probability: number): boolean {
    return this.#next() < probability
  }

  #pick<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)]!
  }
}

function keys(): bigint[] {
  return PEOPLE.flatMap((account) => [account, ...IDS.map((id) => account + id)])
}

function inputOf(at: number): { input?: Hex } {
  return at === 0 ? {} : { input: `0x${'00'.repeat(100 + at)}` }
}

function log(code: number[], topics: bigint[], words: bigint[]): void {
  for (const [index, word] of words.entries()) code.push(...push(word), ...push(BigInt(32 * index)), 0x52)
  for (const topic of [...topics].reverse()) code.push(...push(topic))
  code.push(...push(BigInt(32 * words.length)), 0x60, 0, 0xa0 + topics.length)
}

function push(value: bigint): number[] {
  const digits = value.toString(16)
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return [0x5f + bytes.length, ...bytes]
}

function hash(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}

function addressOf(value: bigint): Address {
  return `0x${value.toString(16).padStart(40, '0')}`
}
