import { hexToBigInt } from 'viem'
import { amountText, type Frame, hasFailure } from './outcome.js'

/** A frame and those that it opened; open where one failed. */
export function CallTree({ frame }: { frame: Frame }) {
  const { calls = [] } = frame
  if (calls.length === 0) {
    return (
      <p>
        <FrameLine frame={frame} />
      </p>
    )
  }
  return (
    <details open={hasFailure(frame)}>
      <summary>
        <FrameLine frame={frame} />
      </summary>
      <ul className="frames">
        {calls.map((call, index) => (
          <li key={index}>
            <CallTree frame={call} />
          </li>
        ))}
      </ul>
    </details>
  )
}

function FrameLine({ frame: { type, to, value, gasUsed, error, revertReason } }: { frame: Frame }) {
  const sends = value !== undefined && hexToBigInt(value) > 0n
  return (
    <>
      {type} <code>{to}</code>
      {sends && ` with ${amountText({ type: 'native' }, value)}`}
      <span className="quiet"> · {hexToBigInt(gasUsed).toLocaleString('en')} gas</span>
      {error && (
        <span className="bad">
          {' '}
          · {error}
          {revertReason && `: ${revertReason}`}
        </span>
      )}
    </>
  )
}
