import { newestBlock } from '@upfront/preconfirmed'
import type { ReceiptBlock } from '@upfront/receipt'
import type { Simulation } from '@upfront/simulation'
import type { RequestView } from '../pending/request-view.js'

/** What a simulation stood on, for its receipt. */
export function receiptBlock({ base, opening, state, rules }: Simulation, { snapshot }: RequestView): ReceiptBlock {
  const on = { chainId: rules.chainId.toString(), number: base.number.toString(), hash: base.hash }
  if (snapshot !== undefined && snapshot !== 'none' && snapshot.state === state) {
    const { payloadId, index, transactions } = newestBlock(snapshot)
    const executed = transactions.map(({ hash }) => hash)
    return { ...on, state: 'preconfirmed', payloadId, flashblock: index, transactions: executed }
  }
  const none = { flashblock: 0, transactions: [] }
  return opening === undefined
    ? { ...on, state: 'canonical', payloadId: '0x', ...none }
    : { ...on, state: 'pending', payloadId: state.key, ...none }
}
