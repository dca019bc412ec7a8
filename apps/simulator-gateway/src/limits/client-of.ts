import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'

const known = new LRUCache<string, string>({ max: 10_000 })

/**
 * The client that an address stands for: an IPv4 address, or an IPv6 /64, which one host has to itself. What a proxy names may
 * hold a port, or be no address at all (`unknown`, RFC 7239): all such clients are one.
 * @param caller an address as the socket or a trusted proxy names it, or the holder of a key
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

/** A provider gives a /48 to whoever asks: its clients together may have so many times what one may. */
export const MOST_TIMES_OF_A_NETWORK = 4

/** The IPv6 /48 that a client belongs to; undefined for any other. @param client as `clientOf` names it */
export function networkOf(client: string): string | undefined {
  return /^\d+:\d+:\d+(?=:\d+$)/.exec(client)?.[0]
}

function parse(ip: string): string {
  const text = ip.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  if (!ipaddr.isValid(text)) return 'unknown'
  const address = ipaddr.process(text)
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString()
}
