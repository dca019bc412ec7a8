import type { Readiness } from './readiness.js'
import type { Disturbance } from './time-line.js'

type StreamFault = NonNullable<NonNullable<Readiness['preconfirmed']>['faults']>[number]

/** Returns the faults of each report that are new. */
export class StreamFaults {
  #known: ReadonlySet<string> = new Set()

  /** @returns each fault with its time, in Unix milliseconds */
  unseen({ preconfirmed }: Readiness): { at: number; disturbance: Disturbance }[] {
    const faults = preconfirmed?.faults ?? []
    const unseen = faults.filter((fault) => !this.#known.has(keyOf(fault)))
    this.#known = new Set(faults.map(keyOf))
    return unseen.map((fault) => ({ at: Date.parse(fault.at), disturbance: disturbanceOf(fault) }))
  }
}

function keyOf({ kind, block, at }: StreamFault): string {
  return `${kind} ${block ?? ''} ${at}`
}

function disturbanceOf({ kind, block, flashblock, at }: StreamFault): Disturbance {
  const place = `flashblock ${flashblock} of block ${block}`
  const time = new Date(at).toLocaleTimeString('en-GB')
  switch (kind) {
    case 'gap':
      return { kind: 'gap', text: `${place} arrived without those before it, ${time}` }
    case 'mismatch':
      return { kind: 'not verified', text: `${place} differs from our own execution, ${time}` }
    case 'nativePrecompile':
      return { kind: 'not verified', text: `${place} calls code that only the chain’s own nodes have, ${time}` }
    case 'differs':
      return {
        kind: 'reorganisation',
        text: `block ${block} was sealed with content that differs from its flashblocks, ${time}`,
      }
    case 'lost':
      return { kind: 'lost', text: `the gateway lost its connection to the stream, ${time}` }
    case 'undecodable':
      return { kind: 'gap', text: `a message of the stream could not be decoded, ${time}` }
  }
}
