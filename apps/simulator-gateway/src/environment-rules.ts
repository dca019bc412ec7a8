import { readFileSync } from 'node:fs'
import { DecodeError } from '@upfront/protocol'
import { chainRulesFromGenesis } from '@upfront/simulation'
import { type ValidationArguments, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator'
import { decodePriceList } from './paid/price-list.js'

@ValidatorConstraint()
export class UpstreamUrls implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.length > 0 && value.every(isHttpUrl)
  }

  /** A URL may hold a key: the message never repeats it. */
  defaultMessage({ value }: ValidationArguments): string {
    if (!Array.isArray(value)) return 'is missing: the http(s) URL of an Ethereum node, or several, comma-separated'
    return `entry ${value.findIndex((url) => !isHttpUrl(url)) + 1} is not an http(s) URL`
  }
}

@ValidatorConstraint()
export class HttpUrl implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return isHttpUrl(value)
  }

  defaultMessage(): string {
    return 'is not an http(s) URL'
  }
}

@ValidatorConstraint()
export class PriceListJson implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return this.problem(value) === undefined
  }

  defaultMessage({ value }: ValidationArguments): string {
    return this.problem(value) ?? ''
  }

  private problem(value: unknown): string | undefined {
    try {
      decodePriceList(String(value))
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}

@ValidatorConstraint()
export class PassthroughMethods implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return Array.isArray(value) && value.every((method) => mayPass(method))
  }

  defaultMessage({ value }: ValidationArguments): string {
    const refused = Array.isArray(value) ? value.filter((method) => !mayPass(method)) : [value]
    return `${refused.join(', ')}: not the name of a read-only method (eth_, net_ or web3_; none sends, signs or keeps state)`
  }
}

@ValidatorConstraint()
export class GenesisFile implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return this.problem(value) === undefined
  }

  defaultMessage({ value }: ValidationArguments): string {
    return this.problem(value) ?? ''
  }

  private problem(path: unknown): string | undefined {
    let text: string
    let genesis: unknown
    try {
      text = readFileSync(String(path), 'utf8')
    } catch (error) {
      return `can't be read: ${error instanceof Error && 'code' in error ? error.code : 'unknown reason'}`
    }
    try {
      genesis = JSON.parse(text)
    } catch {
      return 'is not JSON'
    }
    try {
      chainRulesFromGenesis(genesis)
    } catch (error) {
      if (error instanceof DecodeError) return error.message
      throw error
    }
    return undefined
  }
}

function isHttpUrl(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

const STATEFUL =
  /^eth_(send|sign|submit|newFilter|newBlockFilter|newPendingTransactionFilter|uninstall|subscribe|unsubscribe|getFilter)/

function mayPass(method: unknown): boolean {
  return typeof method === 'string' && /^(eth|net|web3)_[a-zA-Z0-9]+$/.test(method) && !STATEFUL.test(method)
}
