import { hexToBigInt } from 'viem'
import { Code } from '../code.js'
import { AssetChanges } from './asset-changes.js'
import { CallTree } from './call-tree.js'
import { FlameGraph } from './flame-graph.js'
import { decodedText, hasFailure, reasonOf, type SimulatedCall } from './outcome.js'

/** The outcome of one call. */
export function CallOutcome({ outcome }: { outcome: SimulatedCall }) {
  const { gasUsed, returnData, logs, trace, stateDiff, assetChanges, decoded } = outcome
  const reason = reasonOf(outcome)
  return (
    <>
      <p className={reason === undefined ? 'good' : 'bad'}>
        {reason === undefined ? 'Succeeds' : `Fails: ${reason}`}
        <span className="quiet"> · {hexToBigInt(gasUsed).toLocaleString('en')} gas</span>
      </p>
      {decoded?.call && <p>Calls {decodedText(decoded.call)}</p>}
      <AssetChanges changes={assetChanges} signer={trace.from} />
      <details open={hasFailure(trace)}>
        <summary>Call tree</summary>
        <CallTree frame={trace} />
      </details>
      {trace.calls && (
        <details>
          <summary>Gas by frame</summary>
          <FlameGraph frame={trace} />
        </details>
      )}
      <Shown
        title="What changes in the state"
        value={JSON.stringify(stateDiff, null, 2)}
        isEmpty={isEmpty(stateDiff)}
      />
      <Shown title="Return data" value={returnData} isEmpty={returnData === '0x'} />
      <Shown
        title={logs.length === 1 ? '1 log' : `${logs.length} logs`}
        value={JSON.stringify(
          logs.map((log, at) => ({ ...log, decoded: decoded?.logs[at] ?? undefined })),
          null,
          2,
        )}
        isEmpty={logs.length === 0}
      />
    </>
  )
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}

function Shown({ title, value, isEmpty }: { title: string; value: string; isEmpty: boolean }) {
  if (isEmpty) return null
  return (
    <details>
      <summary>{title}</summary>
      <Code>{value}</Code>
    </details>
  )
}
