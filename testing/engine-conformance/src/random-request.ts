import { bytesToHex, concatBytes, eoaCode7702SignAuthorization, hexToBytes, privateToAddress } from '@ethereumjs/util'
import type { Address, Hex } from '@upfront/protocol'
import { randomNumbers } from './random-numbers.js'

const account = (prefix: string, index: number): Address => `0x${prefix}${index.toString(16).padStart(39, '0')}`
const EOAS = [0, 1, 2, 3].map((index) => account('a', index))
const CONTRACTS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => account('c', index))
const PROGRAMS = [0, 1, 2, 3].map((index) => account('d', index))
const NOBODY = [account('e', 1), account('e', 2)]
const COINBASE = account('f', 7)
const MOVED = [account('9', 1), account('9', 2)]
const KEYS = [1, 2].map((index) => hexToBytes(`0x${index.toString(16).padStart(64, '0')}`))
const AUTHORITIES = KEYS.map((key): Address => bytesToHex(privateToAddress(key)))
const PRECOMPILES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 0x100].map((index) =>
  account('0', index),
)
/** Times in genesis.json: paris, shanghai, cancun, prague, osaka, bpo1, bpo2. */
const FORK_TIMES = [100, 1_100, 2_100, 3_100, 4_100, 5_100, 6_100]

/** Seeded random requests that look for edge cases. */
export class RandomRequest {
  private readonly next: () => number

  constructor(seed: number) {
    this.next = randomNumbers(seed)
  }

  payload(): object {
    const time = this.pick(FORK_TIMES)
    const validation = this.chance(0.2)
    const blocks = 1 + this.below(3)
    const clock = { time: time + this.below(50), number: 0 }
    return {
      traceTransfers: this.chance(0.6),
      validation,
      returnFullTransactions: this.chance(0.3),
      blockStateCalls: Array.from({ length: blocks }, (_, index) => {
        if (index > 0 && this.chance(0.2)) clock.time += this.pick([1, 5, 12, 900, 1_000])
        else if (index > 0) clock.time += 12
        const override = this.blockOverride(clock, index === 0)
        return {
          blockOverrides: override,
          stateOverrides: this.overrides(),
          calls: Array.from({ length: 1 + this.below(4) }, () => this.call(clock.time, validation)),
        }
      }),
    }
  }

  /** Advances `clock` to the block. */
  private blockOverride(clock: { time: number; number: number }, first: boolean): object {
    const { time } = clock
    const gap = this.chance(0.1) ? this.below(5) : 0
    clock.number += 1 + gap
    // Blocks that fill a gap take time too.
    clock.time += 12 * gap
    return {
      ...((first || gap > 0 || this.chance(0.7)) && { time: hex(clock.time) }),
      ...((gap > 0 || this.chance(0.1)) && { number: hex(clock.number) }),
      ...(this.chance(0.5) && { feeRecipient: this.pick([COINBASE, ...EOAS, ...CONTRACTS, ...PRECOMPILES]) }),
      ...(this.chance(0.2) && { baseFeePerGas: hex(this.pick([0, 1, 7, 1_000])) }),
      ...(this.chance(0.2) && { prevRandao: word(this.below(1 << 30)) }),
      ...(this.chance(0.1) && { gasLimit: hex(this.pick([0, 21_000, 1_000_000, 30_000_000])) }),
      ...(this.chance(0.1) && time > 2_000 && { blobBaseFee: hex(this.pick([0, 1, 99])) }),
      ...(this.chance(0.1) && time > 2_000 && { beaconRoot: word(this.below(1 << 30)) }),
      ...(this.chance(0.2) &&
        time > 1_000 && { withdrawals: Array.from({ length: this.below(3) }, () => this.withdrawal()) }),
    }
  }

  private overrides(): object {
    const overrides: Record<string, object> = {}
    for (const address of PROGRAMS) {
      if (this.chance(0.7)) overrides[address] = { code: bytesToHex(this.program(2)), ...this.fields() }
    }
    if (this.chance(0.2)) overrides[this.pick([...EOAS, ...NOBODY, ...CONTRACTS])] = this.fields()
    if (this.chance(0.1)) overrides[this.pick(AUTHORITIES)] = { code: `0xef0100${this.anyone().slice(2)}` }
    if (this.chance(0.1))
      overrides[this.pick(NOBODY)] = { code: this.pick(['0xef', '0xef00', '0xef0001', '0xef0100', '0xef010001']) }
    if (this.chance(0.15)) {
      for (let moves = 1 + this.below(3); moves > 0; moves--) overrides[this.pick(PRECOMPILES)] = this.move()
    }
    return overrides
  }

  private move(): object {
    const target = this.pick([...MOVED, ...MOVED, ...PRECOMPILES, ...PROGRAMS, ...CONTRACTS])
    return {
      movePrecompileToAddress: target,
      ...(this.chance(0.2) && this.fields()),
      ...(this.chance(0.2) && { code: bytesToHex(this.program(1)) }),
    }
  }

  private fields(): object {
    const slots = Object.fromEntries([0, 1, 2].slice(this.below(4)).map((slot) => [word(slot), word(this.below(3))]))
    return {
      ...(this.chance(0.5) && { balance: hex(this.pick([0, this.below(1_000), 1e15])) }),
      ...(this.chance(0.3) && { nonce: hex(this.below(5)) }),
      ...(this.chance(0.3) && { [this.pick(['state', 'stateDiff'])]: slots }),
    }
  }

  private call(time: number, validation: boolean): object {
    const creates = this.chance(0.12)
    const prague = time > 3_000
    const special = creates ? 1 : this.next()
    const priced = validation || this.chance(0.2)
    return {
      from: this.pick([...EOAS, ...EOAS, ...PROGRAMS, ...NOBODY]),
      ...(!creates && {
        to: this.pick([
          ...PROGRAMS,
          ...PROGRAMS,
          ...CONTRACTS,
          ...EOAS,
          ...PRECOMPILES,
          ...NOBODY,
          ...AUTHORITIES,
          ...MOVED,
        ]),
      }),
      [this.chance(0.9) ? 'input' : 'data']: creates
        ? bytesToHex(this.chance(0.7) ? this.initCode(1) : this.program(1))
        : this.input(),
      ...(this.chance(0.8) && {
        gas: hex(this.pick([21_000, 21_500, 26_000, 30_000, 54_000, 60_000, 100_000, 300_000, 1_000_000])),
      }),
      ...(this.chance(0.3) && { value: hex(this.pick([1, 5, 100, 5_000])) }),
      ...(this.chance(0.02) && { value: hex(1e21) }),
      ...(this.chance(0.05) && { nonce: hex(this.below(4)) }),
      ...(this.chance(0.02) && { chainId: hex(7_357) }),
      ...(priced && this.fees()),
      ...(this.chance(0.2) && { accessList: Array.from({ length: this.below(4) }, () => this.accessListEntry()) }),
      ...(special < 0.05 &&
        time > 2_000 && {
          blobVersionedHashes: [`0x01${'22'.repeat(31)}`, `0x01${'33'.repeat(31)}`].slice(this.below(2)),
          ...(this.chance(0.7) && { maxFeePerBlobGas: hex(this.pick([0, 1, 1_000])) }),
        }),
      ...(special > 0.85 &&
        special < 1 &&
        prague && { authorizationList: Array.from({ length: 1 + this.below(3) }, () => this.authorization()) }),
    }
  }

  private accessListEntry(): object {
    return {
      address: this.anyone(),
      storageKeys: Array.from({ length: this.below(4) }, () => word(this.below(3))),
    }
  }

  private fees(): object {
    if (this.chance(0.3)) return { gasPrice: hex(this.pick([0, 7, 2_000_000_000])) }
    return {
      maxFeePerGas: hex(this.pick([0, 2_000_000_000, 3_000_000_000])),
      maxPriorityFeePerGas: hex(this.pick([0, 1, 1_000])),
    }
  }

  private authorization(): object {
    const signed = eoaCode7702SignAuthorization(
      {
        chainId: this.pick(['0x', '0x', '0x1cbd', '0x01']) as Hex,
        address: this.pick([...CONTRACTS, ...PROGRAMS, ...AUTHORITIES, ...PRECOMPILES, account('0', 0)]),
        nonce: this.pick(['0x', '0x', '0x01', '0x02']) as Hex,
      },
      this.pick(KEYS),
    )
    const quantity = (bytes: Uint8Array) =>
      `0x${BigInt(bytesToHex(bytes) === '0x' ? 0 : bytesToHex(bytes)).toString(16)}`
    const [chainId, address, nonce, yParity, r, s] = signed
    return {
      chainId: quantity(chainId),
      address: bytesToHex(address),
      nonce: quantity(nonce),
      yParity: quantity(yParity),
      r: quantity(r),
      s: quantity(s),
    }
  }

  private withdrawal(): object {
    return {
      index: hex(this.below(9)),
      validatorIndex: hex(this.below(9)),
      address: this.anyone(),
      amount: hex(this.below(1_000)),
    }
  }

  private input(): Hex {
    if (this.chance(0.3)) return '0x'
    if (this.chance(0.3)) return word(BigInt(this.anyone()))
    if (this.chance(0.3)) return bytesToHex(this.initCode(1))
    return bytesToHex(
      Uint8Array.from({ length: this.pick([1, 32, 64, 96, 128, 192, 213, 256, 288, 384, 600]) }, () =>
        this.pick([0, 0, 0, 1, 2, this.below(256)]),
      ),
    )
  }

  private anyone(): Address {
    return this.pick([
      ...EOAS,
      ...CONTRACTS,
      ...PROGRAMS,
      ...NOBODY,
      ...AUTHORITIES,
      ...PRECOMPILES,
      ...MOVED,
      COINBASE,
    ])
  }

  /** Init code that deploys something, or tries to. */
  private initCode(depth: number): Uint8Array {
    const runtime = this.chance(0.1) ? Uint8Array.of(0xef, 0x00) : this.program(depth - 1)
    const copy = [...push(runtime.length), 0x80, ...push2(0), 0x5f, 0x39, 0x5f, 0xf3].flat()
    const head = Uint8Array.from(copy)
    const offset = head.length
    const at = [...copy].findIndex((byte, index) => byte === 0x61 && index > 0)
    head.set([offset >> 8, offset & 0xff], at + 1)
    return this.chance(0.1) ? concatBytes(head, runtime).slice(0, 8) : concatBytes(head, runtime)
  }

  private program(depth: number): Uint8Array {
    const length = 1 + this.below(10)
    const parts = Array.from({ length }, () => Uint8Array.from(this.step(depth)))
    return concatBytes(...parts, Uint8Array.from(this.ending()))
  }

  private step(depth: number): number[] {
    const keep = [...push(32 * this.below(4)), 0x52]
    const value = push(this.pick([0, 0, 1, 5, 100]))
    const gas = this.pick([push(0), push(1_000), push(10_000), push(30_000), [0x5a], [0x5a]])
    const address = [0x73, ...hexToBytes(this.anyone())]
    const memory = () => [...push(this.pick([0, 32, 64, 100])), ...push(this.pick([0, 0, 32, 64]))]
    switch (this.below(26)) {
      case 0:
        return [...push(this.below(3)), ...push(this.below(4)), 0x55]
      case 1:
        return [...push(this.below(4)), 0x54, ...keep]
      case 2:
        return [...push(this.below(3)), ...push(this.below(2)), 0x5d]
      case 3:
        return [...push(this.below(2)), 0x5c, ...keep]
      case 4:
        return [
          ...push(this.below(1 << 20)),
          ...push(this.below(1 << 20)),
          this.pick([
            1, 2, 3, 4, 5, 6, 7, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1a, 0x1b, 0x1c, 0x1d,
          ]),
          ...keep,
        ]
      case 5:
      case 6:
        return [...memory(), ...memory(), ...value, ...address, ...gas, this.pick([0xf1, 0xf1, 0xf2]), ...keep]
      case 7:
      case 8:
        return [...memory(), ...memory(), ...address, ...gas, this.pick([0xf4, 0xfa]), ...keep]
      case 9:
        return [...address, this.pick([0x31, 0x3b, 0x3f]), ...keep]
      case 10:
        return [
          this.pick([
            0x30, 0x32, 0x33, 0x34, 0x36, 0x38, 0x3a, 0x3d, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x4a, 0x58,
            0x59, 0x5a, 0x5f,
          ]),
          ...keep,
        ]
      case 11:
        return [...Array.from({ length: 4 }, () => push(this.below(99))).flat(), ...memory(), 0xa0 + this.below(5)]
      case 12:
      case 13: {
        if (depth <= 0) return [0x47, ...keep]
        const code = this.initCode(depth - 1)
        const words = Array.from({ length: Math.ceil(code.length / 32) }, (_, index) => {
          const chunk = new Uint8Array(32)
          chunk.set(code.subarray(32 * index, 32 * index + 32))
          return [0x7f, ...chunk, ...push(32 * index), 0x52]
        })
        const salted = this.chance(0.6)
        return [
          ...words.flat(),
          ...(salted ? push(this.below(2)) : []),
          ...push(code.length),
          0x5f,
          ...value,
          salted ? 0xf5 : 0xf0,
          ...keep,
        ]
      }
      case 14:
        return this.chance(0.3) ? [...address, 0xff] : [0x5b]
      case 15:
        return [...memory(), 0x20, ...keep]
      case 16:
        return [...push(this.pick([0, 1, 31, 33])), ...memory(), this.pick([0x37, 0x39, 0x5e])]
      case 17:
        return [...push(this.pick([0, 0, 1, 40])), 0x5f, ...push(this.pick([0, 32])), 0x3e]
      case 18:
        return [...push(this.pick([0, 32])), ...push(this.below(8)), ...push(32), ...address, 0x3c]
      case 19:
        return [...push(this.below(4)), 0x49, ...keep]
      case 20:
        return [...push(this.pick([1, 2, 5, 300])), 0x43, 0x03, 0x40, 0x15, ...keep]
      case 21:
        return this.chance(0.2) ? [this.below(256)] : [0x5a, ...keep]
      case 22:
        return this.chance(0.15)
          ? this.pick([
              [0x50],
              [0xfe],
              [0x0c],
              push(5).concat(0x56),
              [0x5b, 0x5f, 0x5f, 0x56],
              [0x5b, 0x5f, 0x58, 0x56],
            ])
          : [0x46, ...keep]
      case 23:
        return this.chance(0.2)
          ? [
              ...this.pick([
                [0x67, ...Array(8).fill(255)],
                [0x68, ...Array(9).fill(255)],
                [0x63, 1, 0, 0, 0],
              ]),
              this.pick([0x51, 0x35, 0x40, 0x31]),
              ...keep,
            ]
          : [0x44, ...keep]
      case 24:
        return [...push(this.below(256)), 0x19, 0x1e, ...keep]
      default:
        return [...push(this.pick([0, 4, 36])), 0x35, ...keep]
    }
  }

  private ending(): number[] {
    return this.pick([
      [0x60, 0x80, 0x5f, 0xf3],
      [0x60, 0x80, 0x5f, 0xf3],
      [0x60, 0x80, 0x5f, 0xf3],
      [0x60, 0x20, 0x5f, 0xfd],
      [0x00],
      [],
    ])
  }

  private below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  private chance(probability: number): boolean {
    return this.next() < probability
  }

  private pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!
  }
}

function hex(value: number): Hex {
  return `0x${value.toString(16)}`
}

function word(value: number | bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}

function push(value: number): number[] {
  if (value === 0) return [0x60, 0]
  const digits = value.toString(16)
  const bytes = [...hexToBytes(`0x${digits.padStart(digits.length + (digits.length % 2), '0')}`)]
  return [0x5f + bytes.length, ...bytes]
}

function push2(value: number): number[] {
  return [0x61, value >> 8, value & 0xff]
}
