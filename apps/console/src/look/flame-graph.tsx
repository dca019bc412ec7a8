import { hexToBigInt } from 'viem'
import { Wide } from '../parts/wide.js'
import type { Frame } from './answer.js'

const WIDTH = 960
const ROW = 22
/** Narrower frames are omitted, because nothing in them would be readable. */
const MIN_WIDTH = 2
const MAX_ROWS = 64
/** Width of a character of the 0.75rem text, to keep text inside its frame. */
const CHARACTER_WIDTH = 7.5

interface Bar {
  frame: Frame
  x: number
  width: number
  depth: number
}

/** The frames as bars: width is the share of gas, and each is below its caller. */
function barsOf(root: Frame, width = WIDTH): Bar[] {
  const bars: Bar[] = []
  const place = (frame: Frame, x: number, own: number, depth: number) => {
    if (own < MIN_WIDTH || depth >= MAX_ROWS) return
    bars.push({ frame, x, width: own, depth })
    const gas = Number(hexToBigInt(frame.gasUsed))
    let at = x
    for (const call of frame.calls ?? []) {
      const share = gas === 0 ? 0 : Number(hexToBigInt(call.gasUsed)) / gas
      const wide = Math.min(share * own, x + own - at)
      place(call, at, wide, depth + 1)
      at += wide
    }
  }
  place(root, 0, width, 0)
  return bars
}

/** Shows where the gas went. The call tree next to it has the same numbers as text. */
export function FlameGraph({ frame, labelOf }: { frame: Frame; labelOf(frame: Frame): string }) {
  const bars = barsOf(frame)
  const rows = Math.max(...bars.map(({ depth }) => depth)) + 1
  const total = hexToBigInt(frame.gasUsed)
  return (
    <Wide label="Gas by frame">
      <svg
        className="flames"
        viewBox={`0 0 ${WIDTH} ${rows * ROW}`}
        role="img"
        aria-label={`Gas by frame: ${bars.length} frames, ${total.toLocaleString('en')} gas in all`}
      >
        {bars.map(({ frame, x, width, depth }, at) => {
          const { gasUsed, error } = frame
          const gas = hexToBigInt(gasUsed).toLocaleString('en')
          const label = labelOf(frame)
          return (
            <g key={at}>
              <title>{`${label}: ${gas} gas${error ? `, ${error}` : ''}`}</title>
              <rect
                className={error ? 'failed' : `depth-${depth % 3}`}
                x={x}
                y={depth * ROW}
                width={width - 1}
                height={ROW - 2}
              />
              <text x={x + 4} y={depth * ROW + 14}>
                {label.slice(0, Math.max(0, Math.floor((width - 8) / CHARACTER_WIDTH)))}
              </text>
            </g>
          )
        })}
      </svg>
    </Wide>
  )
}
