import { decodeList, decodeObject, refuseUnknownFields } from '@upfront/protocol'
import { type ChainRules, ETHEREUM_FORKS, OP_FORKS } from '@upfront/simulation'
import { bigintsToJson } from './bigint-json.js'

const NAMES = [
  ...['chainId', 'stack', 'source', 'forks', 'blobSchedule', 'schedule', 'depositContract', 'opBaseFee'],
  ...['isUncertain', 'unsupportedFrom'],
]
/** Size limit: a witness is paid for by length. The rules of chains with every fork take a third of this. */
const MAX_DIGITS = 6_000

/** Decodes a witness's chain rules, with bigints already converted. @throws Error that names the field */
export function decodeChainRules(value: unknown, field: string): ChainRules {
  const rules = decodeObject(value, field)
  refuseUnknownFields(rules, field, NAMES)
  if (JSON.stringify(bigintsToJson(rules)).length > MAX_DIGITS)
    throw new Error(`${field}: expected at most ${MAX_DIGITS} digits`)
  assertBigint(rules.chainId, `${field}.chainId`)
  if (rules.stack !== 'ethereum' && rules.stack !== 'optimism')
    throw new Error(`${field}.stack: expected ethereum or optimism`)
  for (const [index, entry] of decodeList(rules.forks, `${field}.forks`).entries()) {
    const at = `${field}.forks[${index}]`
    const { fork, timestamp, block } = decodeObject(entry, at)
    if (![...ETHEREUM_FORKS, ...OP_FORKS].some((known) => known === fork)) throw new Error(`${at}.fork: not known`)
    assertBigint(block ?? timestamp, `${at}.timestamp`)
  }
  for (const [index, entry] of decodeList(rules.blobSchedule, `${field}.blobSchedule`).entries()) {
    const at = `${field}.blobSchedule[${index}]`
    const { timestamp, parameters } = decodeObject(entry, at)
    assertBigint(timestamp, `${at}.timestamp`)
    const { target, max, baseFeeUpdateFraction } = decodeObject(parameters, `${at}.parameters`)
    if (!Number.isSafeInteger(target) || !Number.isSafeInteger(max))
      throw new Error(`${at}.parameters: expected numbers`)
    assertBigint(baseFeeUpdateFraction, `${at}.parameters.baseFeeUpdateFraction`)
    if (baseFeeUpdateFraction === 0n) throw new Error(`${at}.parameters.baseFeeUpdateFraction: is zero`)
  }
  assertBigint(decodeObject(rules.schedule, `${field}.schedule`).blockTime, `${field}.schedule.blockTime`)
  return rules as unknown as ChainRules
}

function assertBigint(value: unknown, field: string): void {
  if (typeof value !== 'bigint' || value < 0n) throw new Error(`${field}: expected a whole number such as "12n"`)
}
