import { useId, useMemo } from 'react'
import { type Abi, hexToBigInt } from 'viem'
import { namedCall } from '../names/decode.js'
import { Json } from '../parts/code.js'
import { Details } from '../parts/details.js'
import { CallTree } from './call-tree.js'
import { AssetTables, LogTable, StateTable } from './changes-tables.js'
import { FlameGraph } from './flame-graph.js'
import type { NameOf } from './name-of.js'
import { type Frame, failedPath, reasonOf, type SimulatedCall } from './outcome.js'
import { slotMeanings } from './slots.js'
import { TransferPicture } from './transfer-picture.js'

interface Props {
  outcome: SimulatedCall
  abi: Abi
  nameOf: NameOf
}

/** The picture of one call, then everything about it as tables; JSON one press away. */
export function CallDetails({ outcome, abi, nameOf }: Props) {
  const { trace, assetChanges, stateDiff, logs, gasUsed, error } = outcome
  const id = useId()
  const slots = useMemo(() => slotMeanings(assetChanges, trace.from), [assetChanges, trace.from])
  const hasChanges = assetChanges.transfers.length + assetChanges.approvals.length > 0
  const changed = Object.keys(stateDiff).length
  return (
    <div>
      {hasChanges && <TransferPicture changes={assetChanges} signer={trace.from} tableId={id} nameOf={nameOf} />}
      {hasChanges && (
        <Details title="What changes hands, as tables" isOpen>
          <AssetTables changes={assetChanges} nameOf={nameOf} id={id} />
        </Details>
      )}
      <Details title="Call tree" isOpen={error !== undefined}>
        <CallTree frame={trace} abi={abi} nameOf={nameOf} failed={failedPath(trace).at(-1)} />
        <Json title="The trace as JSON" value={trace} />
      </Details>
      {changed > 0 && (
        <Details title={`State changes of ${changed === 1 ? 'one account' : `${changed} accounts`}`}>
          <StateTable diff={stateDiff} nameOf={nameOf} slots={slots} />
          <Json title="The state diff as JSON" value={stateDiff} />
        </Details>
      )}
      <Details title={`Gas: ${hexToBigInt(gasUsed).toLocaleString('en')}`}>
        <FlameGraph frame={trace} labelOf={(frame) => frameLabel(frame, abi, nameOf)} />
      </Details>
      {logs.length > 0 && (
        <Details title={logs.length === 1 ? '1 log' : `${logs.length} logs`}>
          <LogTable logs={logs} abi={abi} nameOf={nameOf} />
          <Json title="The logs as JSON" value={logs} />
        </Details>
      )}
      <Json title="All of it as JSON" value={outcome} />
    </div>
  )
}

/** `WETH.transfer`, as short as a bar needs it. */
function frameLabel({ type, to, input }: Frame, abi: Abi, nameOf: NameOf): string {
  const contract = to === undefined ? type : (nameOf(to) ?? `${to.slice(0, 6)}…${to.slice(-4)}`)
  const called = /CREATE/.test(type) ? undefined : namedCall(input, abi)
  if (called !== undefined) return `${contract}.${called.name}`
  return input !== undefined && input.length >= 10 ? `${contract} ${input.slice(0, 10)}` : contract
}

/** `Succeeds · 21,000 gas`, or why not and where. */
export function Verdict({ outcome, abi, nameOf }: Props) {
  const reason = reasonOf(outcome, abi)
  const gas = <span className="quiet">{hexToBigInt(outcome.gasUsed).toLocaleString('en')} gas</span>
  if (reason === undefined) {
    return (
      <p className="verdict">
        <span className="good">✓ Succeeds</span> {gas}
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
          In {frameLabel(last, abi, nameOf)}, called by {frameLabel(by, abi, nameOf)}
          {path.length > 2 && `, ${path.length - 1} calls deep`}.
        </p>
      )}
    </div>
  )
}
