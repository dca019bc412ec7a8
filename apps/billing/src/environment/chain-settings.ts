import { type Address, DecodeError, decodeNetwork, decodeToken, type Network, type Token } from '@upfront/protocol'
import { isHttpUrl } from '@upfront/service'
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
  const entries = Object.entries(parseObject(text))
  if (entries.length === 0) throw new Error('names no network')
  const problems: string[] = []
  const chains = entries.map(([network, entry]) => decodeChain(network, entry, problems))
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return chains
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text)
    if (isObject(parsed)) return parsed
  } catch {
    // The parser's message would quote the text, which may hold an access key.
  }
  throw new Error('must be a JSON object keyed by network, such as {"eip155:84532": {"rpcUrl": "…"}}')
}

function decodeChain(key: string, entry: unknown, problems: string[]): ChainSettings {
  const report = (field: string, problem: string) => problems.push(`CHAINS["${key}"]${field}: ${problem}`)
  const settings = isObject(entry) ? entry : {}
  if (!isObject(entry)) report('', 'must be an object')
  for (const name of Object.keys(settings)) {
    if (!['rpcUrl', 'tokens', 'confirmations', ...WEI_FIELDS].includes(name)) report(`.${name}`, 'is not known')
  }
  const network = parseNetwork(key, report)
  if (!isHttpUrl(settings.rpcUrl)) report('.rpcUrl', 'must be an http or https URL')
  const { confirmations } = settings
  if (confirmations !== undefined && !isConfirmations(confirmations)) {
    report('.confirmations', 'must be an integer from 1 to 1000')
  }
  for (const name of WEI_FIELDS) {
    if (settings[name] !== undefined && !isWei(settings[name])) report(`.${name}`, 'must be wei in decimal digits')
  }
  const tokens = new Map(builtInTokens(network).map((token) => [token.asset, token]))
  const given = settings.tokens ?? {}
  if (!isObject(given)) report('.tokens', 'must be an object keyed by token address')
  for (const [asset, metadata] of Object.entries(isObject(given) ? given : {})) {
    const token = parseToken(network, asset, metadata, report)
    if (token !== null) tokens.set(token.asset, token)
  }
  if (tokens.size === 0)
    report('.tokens', 'must name at least one token (only Base and Base Sepolia have one built in)')
  return {
    network,
    chainId: Number(network.slice('eip155:'.length)),
    rpcUrl: String(settings.rpcUrl),
    tokens,
    ...(isConfirmations(confirmations) ? { confirmations } : {}),
    ...defaultGasBounds(isWei(settings.weiPerToken) ? BigInt(settings.weiPerToken) : WEI_PER_TOKEN),
    ...Object.fromEntries(
      WEI_FIELDS.flatMap((name) => (isWei(settings[name]) ? [[name, BigInt(settings[name])]] : [])),
    ),
  }
}

type Report = (field: string, problem: string) => void

function parseNetwork(key: string, report: Report): Network {
  try {
    return decodeNetwork(key, 'network')
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    report('', error.reason)
    return 'eip155:0'
  }
}

function parseToken(network: Network, asset: string, metadata: unknown, report: Report): Token | null {
  try {
    return decodeToken({ network, asset, ...(isObject(metadata) ? metadata : {}) })
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    report(`.tokens["${asset}"]`, error.message.replace(/^token\./, ''))
    return null
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isConfirmations(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000
}

function isWei(value: unknown): value is string {
  return typeof value === 'string' && /^[1-9][0-9]{0,30}$/.test(value)
}
