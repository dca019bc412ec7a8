import { useId, useMemo } from 'react'
import { hexToBigInt } from 'viem'
import { shortAddress } from '../address-text.js'
import { Json } from '../parts/code.js'
import { Details } from '../parts/details.js'
import { actorOf } from './account-call.js'
import { AccountFacts } from './account-facts.js'
import type { Frame, SimulatedCall } from './answer.js'
import { CallTree } from './call-tree.js'
import { AssetTables, LogTable, StateTable } from './changes-tables.js'
import { FlameGraph } from './flame-graph.js'
import type { NameOf } from './name-of.js'
import { failedPath, reasonOf } from './outcome.js'
import { slotMeanings } from './slots.js'
import { type TokenUnits, unitsOfFor } from './token-units.js'
import { TransferPicture } from './transfer-picture.js'

interface Props {
  outcome: SimulatedCall
  nameOf: NameOf
  /** Units of tokens that nothing transfers, by address. */
  units: ReadonlyMap<string, TokenUnits>
}

/** The picture of one call, followed by tables of all details and the JSON. */
export function CallDetails({ outcome, nameOf, units }: Props) {
  const { trace, assetChanges, stateDiff, logs, gasUsed, error } = outcome
  const id = useId()
  const actor = actorOf(outcome)
  const slots = useMemo(() => slotMeanings(assetChanges, actor), [assetChanges, actor])
  const unitsOf = useMemo(() => unitsOfFor(assetChanges, trace, units), [assetChanges, trace, units])
  const hasChanges = assetChanges.transfers.length + assetChanges.approvals.length > 0
  const changed = Object.keys(stateDiff).length
  return (
    <div>
      <AccountFacts outcome={outcome} />
      {hasChanges && <TransferPicture changes={assetChanges} signer={actor} tableId={id} nameOf={nameOf} />}
      {hasChanges && (
        <Details title="What changes hands" isOpen>
          <AssetTables changes={assetChanges} nameOf={nameOf} id={id} />
        </Details>
      )}
      <Details title="Call tree" isOpen={error !== undefined}>
        <CallTree frame={trace} nameOf={nameOf} unitsOf={unitsOf} failed={failedPath(trace).at(-1)} />
        <Json title="The trace as JSON" value={trace} />
      </Details>
      {changed > 0 && (
        <Details title={`State changes of ${changed === 1 ? 'one account' : `${changed} accounts`}`}>
          <StateTable diff={stateDiff} nameOf={nameOf} slots={slots} />
          <Json title="The state diff as JSON" value={stateDiff} />
        </Details>
      )}
      <Details title={`Gas: ${hexToBigInt(gasUsed).toLocaleString('en')}`}>
        <FlameGraph frame={trace} labelOf={(frame) => frameLabel(frame, nameOf)} />
      </Details>
      {logs.length > 0 && (
        <Details title={logs.length === 1 ? '1 log' : `${logs.length} logs`}>
          <LogTable logs={logs} named={outcome.decoded?.logs ?? []} nameOf={nameOf} unitsOf={unitsOf} />
          <Json title="The logs as JSON" value={logs} />
        </Details>
      )}
      <Json title="Everything as JSON" value={outcome} />
    </div>
  )
}

/** For example `WETH.transfer`, short enough for a bar. */
function frameLabel({ type, to, input, decoded }: Frame, nameOf: NameOf): string {
  const contract = to === undefined ? type : (nameOf(to) ?? shortAddress(to))
  if (decoded?.call !== undefined) return `${contract}.${decoded.call.name}`
  return input !== undefined && input.length >= 10 ? `${contract} ${input.slice(0, 10)}` : contract
}

/** For example `Succeeds · 21,000 gas`, or why and where it fails. */
export function Verdict({ outcome, nameOf }: Omit<Props, 'units'>) {
  const reason = reasonOf(outcome)
  const gas = <span className="quiet">{hexToBigInt(outcome.gasUsed).toLocaleString('en')} gas</span>
  if (reason === undefined) {
    return (
      <p className="verdict">
        <span className="good pill">✓ Succeeds</span> {gas}
      </p>
    )
  }
  const path = failedPath(outcome.trace)
  const last = path.at(-1)
  const by = path.at(-2)
  return (
    <div>
      <p className="verdict">
        <span className="bad">✗ Fails: {reason}</span> {gas}
      </p>
      {last && path.length > 1 && by && (
        <p className="quiet">
          In {frameLabel(last, nameOf)}, called by {frameLabel(by, nameOf)}
          {path.length > 2 && `, ${path.length - 1} calls deep`}.
        </p>
      )}
    </div>
  )
}
