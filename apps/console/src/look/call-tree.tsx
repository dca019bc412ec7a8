import { UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { hexToBigInt } from 'viem'
import { type Named, valueText } from '../names/decode.js'
import { Address } from '../parts/address.js'
import type { Frame } from './answer.js'
import { amountText } from './assets.js'
import type { NameOf } from './name-of.js'
import { errorText, hasFailure } from './outcome.js'
import { amountArgument, type UnitsOf } from './token-units.js'

/** Failed frames from this depth on stay collapsed at first, because a recursive contract opens hundreds. Others do from depth 2 on. */
const MAX_OPEN = 16

interface Props {
  frame: Frame
  nameOf: NameOf
  unitsOf: UnitsOf
  /** The frame whose failure the call passes on. */
  failed: Frame | undefined
  depth?: number
}

/** A frame and its subcalls: functions by name, with arguments. */
export function CallTree({ frame, depth = 0, ...rest }: Props) {
  const { calls = [] } = frame
  const [isOpen, setOpen] = useState(() => depth < 2 || (depth < MAX_OPEN && hasFailure(frame)))
  if (calls.length === 0) {
    return (
      <div className="frame">
        <FrameLine frame={frame} {...rest} />
      </div>
    )
  }
  return (
    <>
      <div className="frame">
        <UnstyledButton
          className="fold"
          aria-expanded={isOpen}
          aria-label={`${calls.length} calls inside`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? '▾' : '▸'}
        </UnstyledButton>{' '}
        <FrameLine frame={frame} {...rest} />
      </div>
      {isOpen && (
        <ul className="frames">
          {calls.map((call, index) => (
            <li key={index}>
              <CallTree frame={call} depth={depth + 1} {...rest} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function FrameLine({ frame, nameOf, unitsOf, failed }: Props) {
  const { type, to, value, input, gasUsed, error, decoded } = frame
  const sends = value !== undefined && hexToBigInt(value) > 0n
  const called = decoded?.call
  const why = error === undefined ? undefined : (errorText(decoded?.error) ?? error)
  return (
    <>
      <span className="kind">{type}</span> {to && <Address value={to} name={nameOf(to)} />}{' '}
      {called ? (
        <Called named={called} to={to} nameOf={nameOf} unitsOf={unitsOf} />
      ) : (
        input !== undefined && input.length >= 10 && !/CREATE/.test(type) && <code>{input.slice(0, 10)}</code>
      )}
      {sends && ` with ${amountText({ type: 'native' }, value)}`}
      <span className="quiet"> · {hexToBigInt(gasUsed).toLocaleString('en')} gas</span>
      {why && (
        <span className="bad">
          {' · '}
          {frame === failed ? 'failed here: ' : 'failed: '}
          {why}
        </span>
      )}
    </>
  )
}

/** A function or an event by name, with arguments; its contract on hover. */
export function Called({
  named,
  to,
  nameOf,
  unitsOf,
}: {
  named: Named
  /** The contract of the function or event. */
  to: string | undefined
  nameOf: NameOf
  unitsOf: UnitsOf
}) {
  const { name, args, signature, from } = named
  return (
    <>
      <strong title={from && `${signature} · ${from}`}>{name}</strong>(
      {Object.entries(args).map(([argument, value], at) => (
        <span key={argument}>
          {at > 0 && ', '}
          <span className="quiet">{argument}</span>{' '}
          <Argument value={amountArgument(named, argument, to, unitsOf) ?? value} nameOf={nameOf} />
        </span>
      ))}
      )
    </>
  )
}

const MAX_TEXT = 66

/** An argument's value; addresses with their marks. */
function Argument({ value, nameOf }: { value: unknown; nameOf: NameOf }) {
  const text = valueText(value)
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return <Address value={text} name={nameOf(text)} />
  return <code title={text}>{text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text}</code>
}
