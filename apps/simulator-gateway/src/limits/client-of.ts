import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

const known = new LRUCache<string, string>({ max: 10_000 })

/**
 * The client behind an address: an IPv4 address, or an IPv6 /64, which belongs to one host. A proxy may report an address with a port, or
 * none at all (`unknown`, RFC 7239): clients without an address count as one.
 * @param caller an address as the socket or a trusted proxy reports it, or the holder of a key or token
 */
export function clientOf(caller: string | { client: string }): string {
  if (typeof caller !== 'string') return caller.client
  const ip = caller
  const before = known.get(ip)
  if (before !== undefined) return before
  const client = parse(ip)
  known.set(ip, client)
  return client
}

/** Providers hand out whole IPv6 /48 networks: all clients of one may together use this many times the limit of a single client. */
export const NETWORK_MULTIPLE = 4

/** The IPv6 /48 of a client; undefined for all others. @param client as returned by `clientOf` */
export function networkOf(client: string): string | undefined {
  return /^\d+:\d+:\d+(?=:\d+$)/.exec(client)?.[0]
}

function parse(ip: string): string {
  const text = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  if (!ipaddr.isValid(text)) return 'unknown'
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
