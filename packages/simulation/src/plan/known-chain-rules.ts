import type { ChainRules } from './chain-rules.js'
import { chainRulesFromGenesis } from './chain-rules-from-genesis.js'

const BLOB_SCHEDULE = {
  cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 },
  prague: { target: 6, max: 9, baseFeeUpdateFraction: 5_007_716 },
  bpo1: { target: 10, max: 15, baseFeeUpdateFraction: 8_346_193 },
  bpo2: { target: 14, max: 21, baseFeeUpdateFraction: 11_684_671 },
}

const OP_MAINNET_TIMES = {
  regolithTime: 0,
  canyonTime: 1_704_992_401,
  ecotoneTime: 1_710_374_401,
  fjordTime: 1_720_627_201,
  graniteTime: 1_726_070_401,
  holoceneTime: 1_736_445_601,
  isthmusTime: 1_746_806_401,
  jovianTime: 1_764_691_201,
}

const OP_SEPOLIA_TIMES = {
  regolithTime: 0,
  canyonTime: 1_699_981_200,
  ecotoneTime: 1_708_534_800,
  fjordTime: 1_716_998_400,
  graniteTime: 1_723_478_400,
  holoceneTime: 1_732_633_200,
  isthmusTime: 1_744_905_600,
  jovianTime: 1_763_568_001,
}

const OP_BASE_FEE = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 }

/** The superchain registry's chains activate forks at the same times. For a younger chain, all earlier ones are active from genesis. */
const OP_MAINNET = { bedrockBlock: 0, ...OP_MAINNET_TIMES, karstTime: 1_783_526_401, optimism: OP_BASE_FEE }
const OP_SEPOLIA = { bedrockBlock: 0, ...OP_SEPOLIA_TIMES, karstTime: 1_781_712_001, optimism: OP_BASE_FEE }

/**
 * Chain configurations, in geth's form. Ethereum: go-ethereum params/chainspecs v1.17.8 and EIP-7892's schedule. OP stack: the
 * superchain registry at 8336d2ae (Karst times, `block_time`). Base: base/base crates/common/chains config.rs at 068fc036, and
 * docs.base.org/base-chain/specs/upgrades for Denim.
 */
const CONFIGS = [
  {
    name: 'Ethereum',
    chainId: 1,
    mergeNetsplitBlock: 15_537_394,
    shanghaiTime: 1_681_338_455,
    cancunTime: 1_710_338_135,
    pragueTime: 1_746_612_311,
    osakaTime: 1_764_798_551,
    bpo1Time: 1_765_290_071,
    bpo2Time: 1_767_747_671,
    blobSchedule: BLOB_SCHEDULE,
    depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
  },
  {
    name: 'Sepolia',
    chainId: 11_155_111,
    mergeNetsplitBlock: 1_735_371,
    shanghaiTime: 1_677_557_088,
    cancunTime: 1_706_655_072,
    pragueTime: 1_741_159_776,
    osakaTime: 1_760_427_360,
    bpo1Time: 1_761_017_184,
    bpo2Time: 1_761_607_008,
    amsterdamTime: 1_791_294_816,
    blobSchedule: BLOB_SCHEDULE,
    depositContractAddress: '0x7f02c3e3c98b133055b8b348b2ac625669ed295d',
  },
  {
    name: 'Holesky',
    chainId: 17_000,
    mergeNetsplitBlock: 0,
    shanghaiTime: 1_696_000_704,
    cancunTime: 1_707_305_664,
    pragueTime: 1_740_434_112,
    osakaTime: 1_759_308_480,
    bpo1Time: 1_759_800_000,
    bpo2Time: 1_760_389_824,
    blobSchedule: BLOB_SCHEDULE,
    depositContractAddress: '0x4242424242424242424242424242424242424242',
  },
  {
    name: 'Hoodi',
    chainId: 560_048,
    mergeNetsplitBlock: 0,
    shanghaiTime: 0,
    cancunTime: 0,
    pragueTime: 1_742_999_832,
    osakaTime: 1_761_677_592,
    bpo1Time: 1_762_365_720,
    bpo2Time: 1_762_955_544,
    blobSchedule: BLOB_SCHEDULE,
    depositContractAddress: '0x00000000219ab540356cbb839cbe05303d7705fa',
  },
  { ...OP_MAINNET, name: 'OP Mainnet', chainId: 10, bedrockBlock: 105_235_063 },
  { ...OP_MAINNET, name: 'Ink', chainId: 57_073, blockTime: 1 },
  { ...OP_MAINNET, name: 'Soneium', chainId: 1_868 },
  { ...OP_MAINNET, name: 'Unichain', chainId: 130, blockTime: 1 },
  { ...OP_MAINNET, name: 'Zora', chainId: 7_777_777 },
  { ...OP_MAINNET, name: 'Mode', chainId: 34_443 },
  { ...OP_MAINNET, name: 'Lisk', chainId: 1_135 },
  { ...OP_MAINNET, name: 'Metal', chainId: 1_750 },
  { ...OP_MAINNET, name: 'Binary', chainId: 624 },
  { ...OP_MAINNET, name: 'Ethernity', chainId: 183 },
  { ...OP_SEPOLIA, name: 'OP Sepolia', chainId: 11_155_420 },
  { ...OP_SEPOLIA, name: 'Ink Sepolia', chainId: 763_373, blockTime: 1 },
  { ...OP_SEPOLIA, name: 'Unichain Sepolia', chainId: 1_301, blockTime: 1 },
  { ...OP_SEPOLIA, name: 'Soneium Minato', chainId: 1_946 },
  { ...OP_SEPOLIA, name: 'Zora Sepolia', chainId: 999_999_999 },
  { ...OP_SEPOLIA, name: 'Mode Sepolia', chainId: 919 },
  { ...OP_SEPOLIA, name: 'Lisk Sepolia', chainId: 4_202 },
  { ...OP_SEPOLIA, name: 'Metal Sepolia', chainId: 1_740 },
  {
    name: 'Base',
    chainId: 8_453,
    bedrockBlock: 0,
    ...OP_MAINNET_TIMES,
    genesisTime: 1_686_789_347,
    azulTime: 1_779_991_200,
    berylTime: 1_782_410_400,
    cobaltTime: 1_790_791_200,
    denimTime: 1_793_901_600,
    optimism: OP_BASE_FEE,
  },
  {
    name: 'Base Sepolia',
    chainId: 84_532,
    bedrockBlock: 0,
    ...OP_SEPOLIA_TIMES,
    genesisTime: 1_695_768_288,
    azulTime: 1_776_708_000,
    berylTime: 1_781_805_600,
    cobaltTime: 1_790_186_400,
    denimTime: 1_792_605_600,
    optimism: { ...OP_BASE_FEE, eip1559Elasticity: 10 },
  },
] as const

const BASE_CAVEAT =
  "Base's native precompiles (B20 tokens and their registries, from Beryl on) are not simulated: a call that reaches one is refused"
const CAVEATS: Readonly<Record<number, string[]>> = { 8453: [BASE_CAVEAT], 84532: [BASE_CAVEAT] }

/** The built-in rules of a chain; undefined for an unknown chain. */
export function knownChainRules(chainId: bigint): ChainRules | undefined {
  const config = CONFIGS.find((known) => BigInt(known.chainId) === chainId)
  if (config === undefined) return undefined
  const rules = chainRulesFromGenesis(config, 'known-chain')
  const caveats = CAVEATS[config.chainId]
  return caveats === undefined ? rules : { ...rules, caveats }
}
