import type { PaymentPayload, ResourceInfo } from '@x402/core/types'
import type { OfferExtension } from '../routes/paid-route-options.js'

/** x402's extension by which facilitators list resources (Bazaar). */
export const BAZAAR = 'bazaar'

type Schema = { properties?: { input?: { properties?: object } } }

/** Adds what the route itself determines: the method and, for a path with parameters, the route template. */
export function describeRoute(extension: OfferExtension, routeName: string): OfferExtension {
  const [method = '', path = ''] = routeName.split(' ')
  const { input } = extension.info as { input?: { type?: unknown } }
  if (input?.type !== 'http') return extension
  const schema = extension.schema as Schema
  const ofInput = schema.properties?.input
  const properties = { ...ofInput?.properties, method: { type: 'string', enum: [method] } }
  return {
    info: { ...extension.info, input: { ...input, method } },
    schema: { ...schema, properties: { ...schema.properties, input: { ...ofInput, properties } } },
    ...(path.includes(':') ? { routeTemplate: path } : {}),
  }
}

/** Replaces the resource description that the buyer echoed by the seller's own: facilitators list what they receive. */
export function replaceEchoedDescription(
  payload: PaymentPayload,
  resource: ResourceInfo,
  offered: Record<string, OfferExtension>,
): PaymentPayload {
  const { [BAZAAR]: _, ...extensions } = payload.extensions ?? {}
  const own = offered[BAZAAR] === undefined ? {} : { [BAZAAR]: offered[BAZAAR] }
  return { ...payload, resource, extensions: { ...extensions, ...own } }
}
