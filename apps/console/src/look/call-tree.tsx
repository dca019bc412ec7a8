import { useState } from 'react'
import { hexToBigInt } from 'viem'
import { amountText } from './assets.js'
import { type Frame, hasFailure } from './outcome.js'

/** Frames this deep and deeper stay closed until they are opened: a contract that calls itself opens hundreds. */
const MOST_OPEN = 16

/** A frame and those that it opened; open where one failed. */
export function CallTree({ frame, depth = 0 }: { frame: Frame; depth?: number }) {
  const { calls = [] } = frame
  const [isOpen, setOpen] = useState(() => depth < MOST_OPEN && hasFailure(frame))
  if (calls.length === 0) {
    return (
      <p>
        <FrameLine frame={frame} />
      </p>
    )
  }
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <FrameLine frame={frame} />
      </summary>
      {isOpen && (
        <ul className="frames">
          {calls.map((call, index) => (
            <li key={index}>
              <CallTree frame={call} depth={depth + 1} />
            </li>
          ))}
        </ul>
      )}
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
