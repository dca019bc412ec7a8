import {
  type Address,
  DecodeError,
  decodeInteger,
  decodeNetwork,
  decodeObject,
  decodeText,
  decodeToken,
  type Network,
  refuseUnknownFields,
  type Token,
} from '@upfront/protocol'
import { isHttpUrl, settingObject } from '@upfront/service'
import { DEFAULT_ASSETS } from '@x402/evm'

/** The most that one transaction settles, and that is read of a transaction: anybody can send what begins like a batch. */
export const MOST_BATCH_ITEMS = 100

/** One entry of `CHAINS`. */
export interface ChainSettings {
  network: Network
  chainId: number
  /** May carry an access key: never log it. */
  rpcUrl: string
  tokens: ReadonlyMap<Address, Token>
  /** Blocks, the transaction's own included, before a settlement counts. Absent: 1. */
  confirmations?: number
  /** What one token (a dollar) is worth in wei of the chain's own currency: bounds on gas are made of it. */
  weiPerToken: bigint
  /** Wei per gas, priority fee included: nothing is sent for more. */
  maxFeePerGas: bigint
  /** Wei that each signer may spend on gas in 24 hours. */
  dailyGasBudget: bigint
  /** Wei that EIP-2612 permits of one payer in one token may cost in 24 hours. Absent: no gas is sponsored. */
  dailySponsoredGas?: bigint
}

const WEI_FIELDS = ['weiPerToken', 'maxFeePerGas', 'dailyGasBudget', 'dailySponsoredGas'] as const
const FIELDS = ['rpcUrl', 'tokens', 'confirmations', ...WEI_FIELDS]
const WEI = /^[1-9][0-9]{0,30}$/

/** 3,000 dollars for one of the chain's own currency. */
const WEI_PER_TOKEN = 10n ** 18n / 3_000n
/** The base of the gateway's price list, and what a seller settles at least by default: a thousandth of a token. */
const SMALLEST_CHARGES_PER_TOKEN = 1_000n
/** A settlement may cost so many of the smallest charges: a promise is kept also while gas is dear, but not at any price. */
const MOST_FOR_A_SETTLEMENT = 1_000n
const MOST_FOR_A_DAY = 300_000n
/** What a settlement alone uses. */
const SETTLEMENT_GAS = 83_500n

/** The bounds on gas where `CHAINS` gives none. Wei. */
function defaultGasBounds(weiPerToken: bigint): Pick<ChainSettings, 'weiPerToken' | 'maxFeePerGas' | 'dailyGasBudget'> {
  const smallestCharge = weiPerToken / SMALLEST_CHARGES_PER_TOKEN
  return {
    weiPerToken,
    maxFeePerGas: (smallestCharge * MOST_FOR_A_SETTLEMENT) / SETTLEMENT_GAS + 1n,
    dailyGasBudget: smallestCharge * MOST_FOR_A_DAY + 1n,
  }
}

/** Base and Base Sepolia, whose USDC need not be given. */
const BUILT_IN_NETWORKS: readonly string[] = ['eip155:8453', 'eip155:84532']

/**
 * `{"eip155:84532": {"rpcUrl": "https://…", "confirmations"?: 3, "maxFeePerGas"?: "5000000000", "dailyGasBudget"?: "100000000000000000", "tokens"?: {"0x…": {"name": "USDC", "version": "2", "decimals": 6}}}}`.
 * @throws Error with every problem, one line each
 */
export function decodeChains(text: string): ChainSettings[] {
  const entries = Object.entries(
    settingObject(text, 'must be a JSON object keyed by network, such as {"eip155:84532": {"rpcUrl": "…"}}'),
  )
  if (entries.length === 0) throw new Error('names no network')
  const problems: string[] = []
  const chains = entries.map(([network, entry]) => decodeChain(network, entry, problems))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return chains
}

function decodeChain(key: string, entry: unknown, problems: string[]): ChainSettings {
  /** What is decoded; where that is refused, the problem is kept and nothing else is stopped by it. */
  const take = <T>(decode: () => T): T | undefined => {
    try {
      return decode()
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      problems.push(error.message)
      return undefined
    }
  }
  const at = `CHAINS["${key}"]`
  const settings = take(() => decodeObject(entry, at)) ?? {}
  for (const name of Object.keys(settings)) take(() => refuseUnknownFields({ [name]: 0 }, at, FIELDS))
  const network = take(() => decodeNetwork(key, at)) ?? 'eip155:0'
  const { rpcUrl, confirmations } = settings
  // It may carry an access key: no error shows it.
  if (!isHttpUrl(rpcUrl)) problems.push(`${at}.rpcUrl: must be an http or https URL`)
  const wei = WEI_FIELDS.flatMap((name) => {
    const given = settings[name]
    const read = take(() =>
      given === undefined ? undefined : BigInt(decodeText(given, WEI, `${at}.${name}`, 'wei in decimal digits')),
    )
    return read === undefined ? [] : [[name, read] as const]
  })
  const tokens = new Map(builtInTokens(network).map((token) => [token.asset, token]))
  for (const [asset, metadata] of Object.entries(
    take(() => decodeObject(settings.tokens ?? {}, `${at}.tokens`)) ?? {},
  )) {
    const place = `${at}.tokens["${asset}"]`
    const token = take(() => decodeToken({ network, asset, ...decodeObject(metadata, place) }, place))
    if (token !== undefined) tokens.set(token.asset, token)
  }
  if (tokens.size === 0)
    problems.push(`${at}.tokens: must name at least one token (only Base and Base Sepolia have one built in)`)
  return {
    network,
    chainId: Number(network.slice('eip155:'.length)),
    rpcUrl: String(rpcUrl),
    tokens,
    ...(confirmations !== undefined && {
      confirmations: take(() => decodeInteger(confirmations, `${at}.confirmations`, 1, 1_000)) ?? 1,
    }),
    ...defaultGasBounds(new Map(wei).get('weiPerToken') ?? WEI_PER_TOKEN),
    ...Object.fromEntries(wei),
  }
}

function builtInTokens(network: Network): Token[] {
  if (!BUILT_IN_NETWORKS.includes(network)) return []
  return (DEFAULT_ASSETS[network] ?? []).map(({ asset, name, version, decimals }) => ({
    network,
    asset: asset.toLowerCase() as Address,
    name,
    version,
    decimals,
  }))
}
