import type { PaymentPayload, ResourceInfo } from '@x402/core/types'
import type { OfferExtension } from '../routes/paid-route-options.js'

/** x402's extension by which facilitators list what is sold. */
export const BAZAAR = 'bazaar'

type Schema = { properties?: { input?: { properties?: object } } }

/** The extension with what is known of the route alone: its method, and of a path with parameters its template. */
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

/** The payment with the seller's own words of what is sold: what a buyer repeated of them, facilitators would list. */
export function inOwnWords(
  payload: PaymentPayload,
  resource: ResourceInfo,
  offered: Record<string, OfferExtension>,
): PaymentPayload {
  const { [BAZAAR]: _, ...extensions } = payload.extensions ?? {}
  const own = offered[BAZAAR] === undefined ? {} : { [BAZAAR]: offered[BAZAAR] }
  return { ...payload, resource, extensions: { ...extensions, ...own } }
}
