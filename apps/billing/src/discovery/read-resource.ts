import type { Requirements } from '@upfront/protocol'
import type { DiscoveryExtension } from '@x402/extensions/bazaar'
import {
  isValidRouteTemplate,
  sanitizeResourceServiceMetadata,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar'
import type { ResourceRow } from '../ledger/schema.js'

/** Limit for the extension as JSON, and for the offer's `extra`. */
const MAX_CHARACTERS = 16_384
const MAX_EXTRA_CHARACTERS = 2_048
const MAX_URL_CHARACTERS = 2_048
const MAX_TEXT_CHARACTERS = 1_024
const MAX_DEPTH = 32

/** The resource described by a payment, without its seller. */
export type Resource = Omit<ResourceRow, 'seller' | 'updatedAt'>

/**
 * Reads the resource from a payment: its `resource`, its `bazaar` extension and the accepted offer. `null` if it describes none. The payer
 * may have forged this, so content that is too long or slow to check is refused.
 * @throws ResourceRefused with the reason why it is not listed
 */
export function readResource(paymentPayload: unknown, offer: Requirements): Resource | null {
  const { resource, extensions } = (paymentPayload ?? {}) as {
    resource?: unknown
    extensions?: { bazaar?: unknown } | null
  }
  const bazaar = extensions?.bazaar
  if (!isObject(bazaar)) return null
  if (!isObject(resource) || typeof resource.url !== 'string') throw new ResourceRefused('resource.url is missing')
  demandSmall(bazaar)
  const { info, schema, routeTemplate } = bazaar
  const extension = { info, schema: plainSchema(schema) }
  const check = [
    () => validateDiscoveryExtensionSpec(extension),
    () => validateDiscoveryExtension(extension as unknown as DiscoveryExtension),
  ]
  for (const { valid, errors } of check.map((run) => run())) {
    if (!valid) throw new ResourceRefused(errors?.[0]?.slice(0, MAX_TEXT_CHARACTERS) ?? 'does not match its schema')
  }
  const { type, method, toolName } = (info as { input: { type: 'http' | 'mcp'; method?: string; toolName?: string } })
    .input
  const url = readUrl(resource.url)
  const template = typeof routeTemplate === 'string' && isValidRouteTemplate(routeTemplate) ? routeTemplate : undefined
  return {
    resource: `${url.origin}${template ?? url.pathname}`,
    operation: (type === 'mcp' ? toolName : method) ?? 'GET',
    type,
    about: {
      ...textOf(resource, 'description'),
      ...textOf(resource, 'mimeType'),
      ...sanitizeResourceServiceMetadata(resource as never),
    },
    accepts: [readOffer(offer)],
    bazaar: { info, schema, ...(template === undefined ? {} : { routeTemplate: template }) } as Record<string, unknown>,
  }
}

/** Why a resource is not listed. */
export class ResourceRefused extends Error {
  override readonly name = 'ResourceRefused'
}

function readUrl(text: string): URL {
  const url = text.length > MAX_URL_CHARACTERS || !URL.canParse(text) ? null : new URL(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ResourceRefused('resource.url: expected an http URL without credentials')
  return url
}

function readOffer({ extra, amount, ...offer }: Requirements): Record<string, unknown> {
  if (JSON.stringify(extra).length > MAX_EXTRA_CHARACTERS) throw new ResourceRefused('the offer is too long')
  return { ...offer, amount: amount.toString(), extra }
}

function textOf(resource: Record<string, unknown>, name: string): Record<string, string> {
  const value = resource[name]
  return typeof value === 'string' && value !== '' ? { [name]: plainText(value).slice(0, MAX_TEXT_CHARACTERS) } : {}
}

/** Replaces control characters and lone surrogates: databases can't store all of them. */
function plainText(text: string): string {
  return text.replace(/\p{Cc}|\p{Surrogate}/gu, ' ')
}

function demandSmall(bazaar: unknown): void {
  const text = JSON.stringify(bazaar)
  if (text.length > MAX_CHARACTERS) throw new ResourceRefused(`bazaar: longer than ${MAX_CHARACTERS} characters`)
  if (/\\u0000|\\ud[89a-f]/i.test(text)) throw new ResourceRefused('bazaar: contains characters that cannot be stored')
}

/**
 * Drops patterns and formats from a JSON Schema and refuses references. Without them a check runs no regular expression, and its time is
 * bounded by the sizes of schema and value.
 */
function plainSchema(schema: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new ResourceRefused('bazaar.schema: nested too deeply')
  if (Array.isArray(schema)) return schema.map((each) => plainSchema(each, depth + 1))
  if (!isObject(schema)) return schema
  const kept = Object.entries(schema).filter(([name, value]) => {
    if (/^\$(ref|dynamicRef|recursiveRef|id)$/.test(name) && typeof value === 'string')
      throw new ResourceRefused(`bazaar.schema: ${name} is not supported`)
    return !(name === 'patternProperties' || ((name === 'pattern' || name === 'format') && typeof value === 'string'))
  })
  return Object.fromEntries(kept.map(([name, value]) => [name, plainSchema(value, depth + 1)]))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
