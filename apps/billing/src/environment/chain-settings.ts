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

/** Most items that a batch has, and that are read from one: anyone can send calldata that looks like a batch. */
export const MAX_BATCH_ITEMS = 100

/** One entry of `CHAINS`. */
export interface ChainSettings {
  network: Network
  chainId: number
  /** May contain an access key: never log it. */
  rpcUrl: string
  tokens: ReadonlyMap<Address, Token>
  /** Confirmations of a settlement, including the transaction's own block. Default: the setting `CONFIRMATIONS`. */
  confirmations?: number
  /** Value of one token (a dollar) in wei of the native currency. The default gas bounds are derived from it. */
  weiPerToken: bigint
  /** Wei per gas, including the tip. Nothing is sent above this price. */
  maxFeePerGas: bigint
  /** Wei that each signer may spend on gas in 24 hours. */
  dailyGasBudget: bigint
  /** Wei that the EIP-2612 permits of one payer in one token may cost in 24 hours. Without it no gas is sponsored. */
  dailySponsoredGas?: bigint
}

const WEI_FIELDS = ['weiPerToken', 'maxFeePerGas', 'dailyGasBudget', 'dailySponsoredGas'] as const
const FIELDS = ['rpcUrl', 'tokens', 'confirmations', ...WEI_FIELDS]
const WEI = /^[1-9][0-9]{0,30}$/

/** At 3,000 dollars for one unit of the native currency. */
const WEI_PER_TOKEN = 10n ** 18n / 3_000n
/** The smallest charge is a thousandth of a token: the base of the gateway's price list, and a seller's default minimum. */
const SMALLEST_CHARGES_PER_TOKEN = 1_000n
/** Highest cost of a settlement in smallest charges: promises are kept while gas is expensive, but not at any price. */
const MAX_CHARGES_PER_SETTLEMENT = 1_000n
const MAX_CHARGES_PER_DAY = 300_000n
/** Gas of a settlement in its own transaction. */
const SETTLEMENT_GAS = 83_300n

/** Default gas bounds of a chain. Wei. */
function defaultGasBounds(weiPerToken: bigint): Pick<ChainSettings, 'weiPerToken' | 'maxFeePerGas' | 'dailyGasBudget'> {
  const smallestCharge = weiPerToken / SMALLEST_CHARGES_PER_TOKEN
  return {
    weiPerToken,
    maxFeePerGas: (smallestCharge * MAX_CHARGES_PER_SETTLEMENT) / SETTLEMENT_GAS + 1n,
    dailyGasBudget: smallestCharge * MAX_CHARGES_PER_DAY + 1n,
  }
}

/** Base and Base Sepolia. Their USDC is built in. */
const BUILT_IN_NETWORKS: readonly string[] = ['eip155:8453', 'eip155:84532']

/**
 * Decodes `CHAINS`, for example `{"eip155:84532": {"rpcUrl": "https://…", "confirmations"?: 3, "maxFeePerGas"?: "5000000000",
 * "dailyGasBudget"?: "100000000000000000", "tokens"?: {"0x…": {"name": "USDC", "version": "2", "decimals": 6}}}}`.
 * @throws Error with every problem, one per line
 */
export function decodeChains(text: string): ChainSettings[] {
  const entries = Object.entries(
    settingObject(text, 'must be a JSON object keyed by network, such as {"eip155:84532": {"rpcUrl": "…"}}'),
  )
  if (entries.length === 0) throw new Error('must name at least one network')
  const problems: string[] = []
  const chains = entries.map(([network, entry]) => decodeChain(network, entry, problems))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return chains
}

function decodeChain(key: string, entry: unknown, problems: string[]): ChainSettings {
  /** Collects the problem if decoding fails, so that all problems are reported together. */
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
  // The URL may contain an access key: errors never show it.
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
