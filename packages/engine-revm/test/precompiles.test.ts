import { createHash } from 'node:crypto'
import { bls12_381 } from '@noble/curves/bls12-381.js'
import { callPlan, RICH, simulated, withoutGasLimit } from '@upfront/engine-conformance'
import type { Hex } from '@upfront/protocol'
import type { RevmEngine } from '../src/index.js'
import { BUILDS } from './builds.js'

// Compared with another library: the builds use C cryptography natively, Rust in the portable one.

const [G1, G2] = [bls12_381.G1.Point, bls12_381.G2.Point]
type PointG1 = typeof G1.BASE
type PointG2 = typeof G2.BASE
const ORDER = bls12_381.fields.Fr.ORDER
const FIELD = bls12_381.fields.Fp.ORDER

const hex = (value: bigint, bytes: number) => value.toString(16).padStart(2 * bytes, '0')
const fp = (value: bigint) => hex(value, 64)
const fp2 = ({ c0, c1 }: { c0: bigint; c1: bigint }) => fp(c0) + fp(c1)
const scalar = (value: bigint) => hex(value, 32)
const g1 = (point: PointG1) => {
  if (point.is0()) return '0'.repeat(256)
  const { x, y } = point.toAffine()
  return fp(x) + fp(y)
}
const g2 = (point: PointG2) => {
  if (point.is0()) return '0'.repeat(512)
  const { x, y } = point.toAffine()
  return fp2(x) + fp2(y)
}

/** Deterministic, so that failures can be reproduced. */
const numbers = (seed: number, most: bigint) => {
  const digest = createHash('sha512').update(`number ${seed}`).digest('hex')
  return 1n + (BigInt(`0x${digest}`) % (most - 1n))
}
const k = (seed: number) => numbers(seed, ORDER)
const some1 = (seed: number) => G1.BASE.multiply(k(seed))
const some2 = (seed: number) => G2.BASE.multiply(k(seed))
const terms = Array.from({ length: 5 }, (_, index) => index + 10)

const [ADD1, MSM1, ADD2, MSM2, PAIRING, MAP1, MAP2] = [0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11]
const KZG = 0x0a
const yes = scalar(1n)

/** A point on the curve outside the subgroup. */
function strayG1(): string {
  const { Fp } = bls12_381.fields
  for (let x = 1n; ; x++) {
    const square = Fp.add(Fp.pow(x, 3n), 4n)
    let y: bigint
    try {
      y = Fp.sqrt(square)
    } catch {
      continue
    }
    if (!G1.fromAffine({ x, y }).isTorsionFree()) return fp(x) + fp(y)
  }
}

function opening(commitment: PointG1, z: bigint, y: bigint, proof: PointG1): string {
  const bytes = commitment.toBytes()
  const hash = createHash('sha256').update(bytes).digest()
  hash[0] = 1
  return hash.toString('hex') + scalar(z) + scalar(y) + Buffer.from(bytes).toString('hex') + proof.toHex()
}

const OPENED = `${scalar(4_096n)}${scalar(ORDER)}`
// The constant polynomial 3: its commitment is 3·G1, its proof at any point the point at infinity.
const constant = opening(G1.BASE.multiply(3n), 5n, 3n, G1.ZERO)

/** Input and expected output of each; undefined if it is refused. */
const CASES: [string, number, string, string | undefined][] = [
  ['adds points of G1', ADD1, g1(some1(1)) + g1(some1(2)), g1(some1(1).add(some1(2)))],
  ['adds a point of G1 to itself', ADD1, g1(some1(1)) + g1(some1(1)), g1(some1(1).double())],
  ['adds what cancels out in G1', ADD1, g1(some1(1)) + g1(some1(1).negate()), g1(G1.ZERO)],
  ['adds nothing in G1', ADD1, g1(G1.ZERO) + g1(some1(3)), g1(some1(3))],
  ['refuses to add what is no point of G1', ADD1, fp(1n) + fp(1n) + g1(some1(1)), undefined],
  ['refuses a coordinate beyond the field', ADD1, fp(FIELD) + fp(0n) + g1(some1(1)), undefined],
  ['refuses another length', ADD1, g1(some1(1)), undefined],
  [
    'multiplies many in G1',
    MSM1,
    terms.map((seed) => g1(some1(seed)) + scalar(k(seed + 100))).join(''),
    g1(terms.reduce((sum, seed) => sum.add(some1(seed).multiply(k(seed + 100))), G1.ZERO)),
  ],
  ['takes a factor beyond the order', MSM1, g1(some1(1)) + scalar(ORDER + 2n), g1(some1(1).double())],
  ['refuses to multiply what is outside of the subgroup', MSM1, strayG1() + scalar(2n), undefined],
  ['adds points of G2', ADD2, g2(some2(1)) + g2(some2(2)), g2(some2(1).add(some2(2)))],
  ['refuses to add what is no point of G2', ADD2, fp(1n).repeat(4) + g2(some2(1)), undefined],
  [
    'multiplies many in G2',
    MSM2,
    terms.map((seed) => g2(some2(seed)) + scalar(k(seed + 100))).join(''),
    g2(terms.reduce((sum, seed) => sum.add(some2(seed).multiply(k(seed + 100))), G2.ZERO)),
  ],
  ['pairs what cancels out', PAIRING, g1(some1(1)) + g2(some2(2)) + g1(some1(1).negate()) + g2(some2(2)), yes],
  [
    'pairs by both sides',
    PAIRING,
    g1(G1.BASE.multiply(6n)) + g2(G2.BASE.multiply(5n)) + g1(G1.BASE.multiply(30n).negate()) + g2(G2.BASE),
    yes,
  ],
  ['pairs what does not cancel out', PAIRING, g1(some1(1)) + g2(some2(2)), scalar(0n)],
  ['pairs nothing with something', PAIRING, g1(G1.ZERO) + g2(some2(2)), yes],
  ['refuses to pair what is outside of the subgroup', PAIRING, strayG1() + g2(some2(2)), undefined],
  ['refuses to pair nothing at all', PAIRING, '', undefined],
  ...[1, 2, 3].map((seed): (typeof CASES)[number] => {
    // Its types require a list, but it only takes a number.
    const u = numbers(seed, FIELD)
    return [`maps a number to G1, ${seed}`, MAP1!, fp(u), g1(bls12_381.G1.mapToCurve(u as never) as unknown as PointG1)]
  }),
  ...[1, 2, 3].map((seed): (typeof CASES)[number] => {
    const u: [bigint, bigint] = [numbers(seed, FIELD), numbers(seed + 50, FIELD)]
    return [
      `maps a pair of numbers to G2, ${seed}`,
      MAP2!,
      fp(u[0]) + fp(u[1]),
      g2(bls12_381.G2.mapToCurve(u) as unknown as PointG2),
    ]
  }),
  ['refuses to map a number beyond the field', MAP1, fp(FIELD), undefined],
  ['accepts an opening', KZG, constant, OPENED],
  ['refuses an opening to another value', KZG, opening(G1.BASE.multiply(3n), 5n, 4n, G1.ZERO), undefined],
  ['refuses an opening by another proof', KZG, opening(G1.BASE.multiply(3n), 5n, 3n, G1.BASE), undefined],
  ['refuses an opening at what is beyond the order', KZG, opening(G1.BASE.multiply(3n), ORDER, 3n, G1.ZERO), undefined],
  ['refuses an opening of another hash', KZG, `02${constant.slice(2)}`, undefined],
  ['refuses an opening of another length', KZG, constant.slice(2), undefined],
]

describe.each(BUILDS)('precompiles, on the %s build', (_build, create) => {
  let engine: RevmEngine
  beforeAll(() => {
    engine = create()
  })
  afterAll(() => engine.close())

  it.each(CASES)('%s', async (_name, precompile, input, returned) => {
    const to: Hex = `0x${hex(BigInt(precompile), 20)}`
    const { blocks } = await simulated(engine, callPlan({ from: RICH, to, input: `0x${input}`, gas: '0x1000000' }))
    const [call] = blocks[0]!.calls
    expect([call?.status, call?.returnData]).toEqual(returned === undefined ? ['0x0', '0x'] : ['0x1', `0x${returned}`])
  })

  // A 32-bit build must not truncate a length.
  it.each([
    ['of a number', 1n, '0x0'],
    ['of nothing', 0n, '0x1'],
  ])('prices MODEXP before Osaka: a power %s with an exponent of 2^40 bytes', async (_what, base, status) => {
    const input: Hex = `0x${scalar(base)}${scalar(2n ** 40n)}${scalar(0n)}`
    const gas = 12n * 10n ** 9n
    const plan = withoutGasLimit(callPlan({ from: RICH, to: `0x${hex(5n, 20)}`, input, gas: `0x${gas.toString(16)}` }))
    const prague = plan.blocks.map((block) => ({ ...block, rules: { ...block.rules, fork: 'prague' as const } }))
    const { blocks } = await simulated(engine, { ...plan, blocks: prague })
    const call = blocks[0]!.calls[0]!
    expect([call.status, BigInt(call.gasUsed) === gas]).toEqual([status, status === '0x0'])
  })
})
