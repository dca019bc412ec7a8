import { isHttpUrl, readJsonFile } from '@upfront/service'
import { chainRulesFromGenesis } from '@upfront/simulation'
import { type ValidationArguments, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator'

@ValidatorConstraint()
export class UpstreamUrls implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.length > 0 && value.every(isHttpUrl)
  }

  /** Never repeats a URL: it may hold a key. */
  defaultMessage({ value }: ValidationArguments): string {
    if (!Array.isArray(value))
      return 'is missing: set it to the http(s) URL of an Ethereum node, or several, comma-separated'
    return `entry ${value.findIndex((url) => !isHttpUrl(url)) + 1} is not an http(s) URL`
  }
}

@ValidatorConstraint()
export class PassthroughMethods implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.every((method) => mayPass(method))
  }

  defaultMessage({ value }: ValidationArguments): string {
    const refused = Array.isArray(value) ? value.filter((method) => !mayPass(method)) : [value]
    return `${refused.join(', ')}: not a read-only method: expected names in eth_, net_ or web3_ that neither send, sign nor keep state`
  }
}

/** Checks the settings that `TRUTH_SCORE=on` requires. */
@ValidatorConstraint()
export class SeesTransactions implements ValidatorConstraintInterface {
  validate(value: unknown, { object }: ValidationArguments): boolean {
    return value !== 'on' || lackingToSee(object as Seeing) === undefined
  }

  defaultMessage({ object }: ValidationArguments): string {
    return `needs ${lackingToSee(object as Seeing)}`
  }
}

interface Seeing {
  UPSTREAM_WS_URL?: string[]
  FLASHBLOCKS_WS_URL?: string[]
  FOLLOW_HEAD: string
}

function lackingToSee({ UPSTREAM_WS_URL, FLASHBLOCKS_WS_URL, FOLLOW_HEAD }: Seeing): string | undefined {
  if (UPSTREAM_WS_URL === undefined && FLASHBLOCKS_WS_URL === undefined)
    return 'UPSTREAM_WS_URL or FLASHBLOCKS_WS_URL, to see transactions'
  return FOLLOW_HEAD === 'off' ? 'blocks: FOLLOW_HEAD must be on' : undefined
}

/** Decodes `EVM_ENGINE`, including the former names of its values. @throws Error that lists the values */
export function decodeBuild(text: string): 'auto' | 'native' | 'portable' {
  const named = { revm: 'native', ethereumjs: 'portable' }[text] ?? text
  if (named === 'auto' || named === 'native' || named === 'portable') return named
  throw new Error('must be one of the following values: auto, native, portable')
}

/** Reads the JSON of a genesis file. @throws Error that says what is wrong with it */
export function readGenesisFile(path: string): unknown {
  const genesis = readJsonFile(path)
  chainRulesFromGenesis(genesis)
  return genesis
}

const STATEFUL =
  /^eth_(send|sign|submit|newFilter|newBlockFilter|newPendingTransactionFilter|uninstall|subscribe|unsubscribe|getFilter)/

function mayPass(method: unknown): boolean {
  return typeof method === 'string' && /^(eth|net|web3)_[a-zA-Z0-9]+$/.test(method) && !STATEFUL.test(method)
}
