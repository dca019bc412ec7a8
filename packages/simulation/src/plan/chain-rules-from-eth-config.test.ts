import { chainRulesFromEthConfig } from './chain-rules-from-eth-config.js'
import { rulesAt } from './rules-at.js'

const blobSchedule = { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 }
const prague = {
  activationTime: 100,
  chainId: '0x88bb0',
  blobSchedule,
  precompiles: { ECREC: '0x01', KZG_POINT_EVALUATION: '0x0a', BLS12_G1ADD: '0x0b' },
  systemContracts: { BEACON_ROOTS_ADDRESS: '0x', DEPOSIT_CONTRACT_ADDRESS: `0x${'Dd'.repeat(20)}` },
}
const osaka = { ...prague, activationTime: 200, precompiles: { ...prague.precompiles, P256VERIFY: '0x0100' } }
const bpo1 = { ...osaka, activationTime: 300, blobSchedule: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 } }

describe('chainRulesFromEthConfig', () => {
  it('identifies forks by their precompiles and system contracts', () => {
    const rules = chainRulesFromEthConfig({ current: prague, next: osaka, last: bpo1 })
    expect(rules).toMatchObject({
      chainId: 560048n,
      stack: 'ethereum',
      source: 'eth_config',
      depositContract: `0x${'dd'.repeat(20)}`,
    })
    expect([99n, 100n, 200n, 300n].map((time) => rulesAt(rules, 1n, time))).toEqual([
      undefined,
      { fork: 'prague', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } },
      { fork: 'osaka', blob: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716n } },
      { fork: 'osaka', blob: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193n } },
    ])
  })

  it('adds next and last once if they are the same, and not if they are null', () => {
    expect(chainRulesFromEthConfig({ current: prague, next: osaka, last: osaka }).forks).toHaveLength(2)
    expect(chainRulesFromEthConfig({ current: prague, next: null, last: null }).forks).toHaveLength(1)
  })

  it('adds a caveat if the node runs a fork that is not implemented', () => {
    const systemContracts = { ...osaka.systemContracts, BOGOTA_CONTRACT_ADDRESS: '0x' }
    expect(chainRulesFromEthConfig({ current: { ...osaka, systemContracts } }).caveats?.join()).toContain(
      'after Amsterdam',
    )
    expect(chainRulesFromEthConfig({ current: osaka })).not.toHaveProperty('caveats')
  })

  it("identifies Amsterdam only if the head has Amsterdam's header field", () => {
    const systemContracts = { ...osaka.systemContracts, BUILDER_DEPOSIT_CONTRACT_ADDRESS: '0x' }
    const forkOf = (headHasAccessList: boolean) =>
      chainRulesFromEthConfig({ current: { ...osaka, systemContracts } }, headHasAccessList).forks[0]?.fork
    expect([forkOf(true), forkOf(false)]).toEqual(['amsterdam', 'osaka'])
  })

  it.each([
    [null, 'eth_config: expected an object, got null'],
    [{ current: null }, 'eth_config.current: expected an object, got null'],
    [{ current: { ...prague, chainId: 1 } }, 'eth_config.current.chainId: expected a hex quantity, got 1'],
    [
      { current: { ...prague, activationTime: 'now' } },
      'eth_config.current.activationTime: expected a whole number of seconds, got "now"',
    ],
    [{ current: { ...prague, blobSchedule: null } }, 'eth_config.current.blobSchedule: expected an object, got null'],
    [
      { current: { ...prague, precompiles: {}, systemContracts: {} } },
      'eth_config.current: forks before Cancun cannot be told apart',
    ],
  ])('refuses a malformed answer: %#', (json, message) => {
    expect(() => chainRulesFromEthConfig(json)).toThrow(message)
  })
})
