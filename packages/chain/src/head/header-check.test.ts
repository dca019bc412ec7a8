import { headerFromRpc, headerHash } from '@upfront/simulation'
import { HeaderCheck } from './header-check.js'

const word = (digit: string) => `0x${digit.repeat(64)}`

/** A header with Shanghai's fields. */
const SHANGHAI = {
  parentHash: word('1'),
  sha3Uncles: word('2'),
  miner: `0x${'3'.repeat(40)}`,
  stateRoot: word('4'),
  transactionsRoot: word('5'),
  receiptsRoot: word('6'),
  logsBloom: `0x${'0'.repeat(512)}`,
  difficulty: '0x0',
  number: '0x103ef76',
  gasLimit: '0x1c9c380',
  gasUsed: '0x1',
  timestamp: '0x64373057',
  extraData: '0x1234',
  mixHash: word('7'),
  nonce: '0x0000000000000000',
  baseFeePerGas: '0x5',
  withdrawalsRoot: word('8'),
}

function sealed(fields: object) {
  const block = { ...SHANGHAI, ...fields, hash: word('0') }
  return { ...block, hash: headerHash(headerFromRpc(block)) }
}
const check = (checks: HeaderCheck, block: object) => checks.check(headerFromRpc(block), block)

describe('HeaderCheck', () => {
  it('accepts all headers as long as none has hashed to its own hash', () => {
    const checks = new HeaderCheck()
    const header = check(checks, { ...SHANGHAI, hash: word('9') })
    expect(checks.isCarriable(header)).toBe(true)
  })

  it.each(['timestamp', 'gasUsed', 'baseFeePerGas'])('rejects a wrong %s once a header hashed correctly', (field) => {
    const checks = new HeaderCheck()
    check(checks, sealed({}))
    const next = sealed({ number: '0x103ef77' })
    expect(check(checks, next).hash).toBe(next.hash)
    expect(() => check(checks, { ...next, [field]: '0x7' })).toThrow('does not hash to its hash')
    expect(() => check(checks, { ...next, mixHash: word('a') })).toThrow('block 17035127 does not hash to its hash')
  })

  it('accepts a header with unknown fields as unverified, and verifies one with the fields of a known fork', () => {
    const checks = new HeaderCheck()
    check(checks, sealed({}))
    const unknown = { ...sealed({}), fieldOfAFork: '0x5', timestamp: '0x99' }
    expect(checks.isCarriable(check(checks, unknown))).toBe(false)
    const cancun = sealed({ blobGasUsed: '0x0', excessBlobGas: '0x0', parentBeaconBlockRoot: word('b') })
    expect(checks.isCarriable(check(checks, cancun))).toBe(true)
    expect(() => check(checks, { ...cancun, blobGasUsed: '0x20000' })).toThrow('does not hash')
  })
})
