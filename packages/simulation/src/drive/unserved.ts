import { isMethodMissing, type UpstreamFault } from '@upfront/node'

const LASTS_MS = 600_000

/** Features that the node was found not to serve; forgotten after a while. */
export class Unserved<Feature extends string> {
  readonly #until = new Map<Feature, number>()
  readonly #onWorkaround: (lacks: string) => void

  constructor(onWorkaround: (lacks: string) => void) {
    this.#onWorkaround = onWorkaround
  }

  has(feature: Feature): boolean {
    return (this.#until.get(feature) ?? 0) > performance.now()
  }

  note(feature: Feature): void {
    if (!this.has(feature)) this.#onWorkaround(feature)
    this.#until.set(feature, performance.now() + LASTS_MS)
  }
}

/** Whether the node never serves such a call. */
export function isUnserved(fault: UpstreamFault): boolean {
  if (fault.kind !== 'rpc-error') return false
  const { message = '' } = fault.detail.rpc ?? {}
  return (
    isMethodMissing(fault) ||
    /not (available|supported|allowed|enabled|whitelisted|exist)|unsupported|disabled|forbidden/i.test(message)
  )
}
