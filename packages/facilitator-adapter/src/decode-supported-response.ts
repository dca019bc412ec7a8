import { decodeObject, invalidField } from '@upfront/protocol'
import type { SupportedResponse } from '@x402/core/types'

/**
 * Decodes billing's `/supported` answer. @x402/core has this check only inside its own HTTP client.
 * @throws DecodeError
 */
export function decodeSupportedResponse(value: unknown): SupportedResponse {
  const { kinds, extensions, signers } = decodeObject(value, 'supported')
  if (!Array.isArray(kinds)) throw invalidField('supported.kinds', 'must be an array')
  return {
    kinds: kinds.map((each: unknown, index) => {
      const field = `supported.kinds[${index}]`
      const { x402Version, scheme, network, extra } = decodeObject(each, field)
      if (typeof x402Version !== 'number' || typeof scheme !== 'string' || typeof network !== 'string') {
        throw invalidField(field, 'must have x402Version, scheme and network')
      }
      return {
        x402Version,
        scheme,
        network: network as `${string}:${string}`,
        ...(extra === undefined ? {} : { extra: decodeObject(extra, `${field}.extra`) }),
      }
    }),
    extensions: Array.isArray(extensions) ? extensions.map(String) : [],
    signers: signers === undefined ? {} : (decodeObject(signers, 'supported.signers') as Record<string, string[]>),
  }
}
