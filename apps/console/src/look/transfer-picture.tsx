import { useId, useMemo } from 'react'
import { type Address, checksumAddress } from 'viem'
import { Wide } from '../parts/wide.js'
import type { AssetChanges } from './assets.js'
import { transferGraph } from './transfer-graph.js'

interface Props {
  changes: AssetChanges
  signer: Address
  /** Id of the table with the same content. */
  tableId: string
  nameOf(address: Address): string | undefined
}

/** Bounds on the scale of the picture on the screen; below `least` it scrolls. */
const SCALE = { least: 0.75, most: 1.2 }

/** Draws transfers and approvals between addresses. */
export function TransferPicture({ changes, signer, tableId, nameOf }: Props) {
  const id = useId()
  const { places, arrows, total, width, height } = useMemo(
    () => transferGraph(changes, signer, nameOf),
    [changes, signer, nameOf],
  )
  const shown =
    arrows.length < total ? `the ${arrows.length} most important of ${total} arrows` : plural(total, 'arrow')
  return (
    <figure className="transfers">
      <Wide label="Picture of what changes hands">
        <svg
          style={{ width: width * SCALE.most, minWidth: width * SCALE.least, maxWidth: '100%' }}
          viewBox={`0 0 ${width} ${height}`}
          role="img"
          aria-label={`What changes hands: ${shown} between ${plural(places.length, 'address')}`}
          aria-details={tableId}
        >
          <defs>
            {['transfer', 'approval', 'contradicted'].map((kind) => (
              <marker
                key={kind}
                id={`${id}-${kind}`}
                viewBox="0 0 8 8"
                refX="8"
                refY="4"
                markerWidth="8"
                markerHeight="8"
                orient="auto"
              >
                <path className={`head ${kind}`} d="M0 0 8 4 0 8z" />
              </marker>
            ))}
          </defs>
          {arrows.map(({ kind, text, isContradicted, points }, at) => {
            const look = isContradicted ? 'contradicted' : kind
            return (
              <path
                key={at}
                className={isContradicted ? `arrow ${kind} contradicted` : `arrow ${kind}`}
                d={curveOf(points)}
                markerEnd={`url(#${id}-${look})`}
              >
                <title>{text}</title>
              </path>
            )
          })}
          {arrows.map(({ text, isContradicted, label: { x, y, width } }, at) => (
            <g key={at} className={isContradicted ? 'contradicted' : undefined}>
              <rect className="ground" x={x - width / 2} y={y - 8} width={width} height={16} />
              <text x={x} y={y + 4}>
                {text}
              </text>
            </g>
          ))}
          {places.map(({ address, text, isSigner, x, y, ...size }) => (
            <g key={address} className={isSigner ? 'place signer' : 'place'}>
              <title>{checksumAddress(address)}</title>
              <rect x={x - size.width / 2} y={y - size.height / 2} {...size} rx="6" />
              <text x={x} y={isSigner ? y - 2 : y + 4}>
                {text}
              </text>
              {isSigner && (
                <text className="role" x={x} y={y + 14}>
                  signer
                </text>
              )}
            </g>
          ))}
        </svg>
      </Wide>
      {arrows.length < total && <figcaption>Shown: {shown}. The table has all of them.</figcaption>}
    </figure>
  )
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : noun.endsWith('s') ? 'es' : 's'}`
}

/** A smooth curve from the first point to the last; the points between bend it. */
function curveOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points
  const bends = rest.slice(0, -1).map(({ x, y }, at) => {
    const next = rest[at + 1]!
    const isLast = at === rest.length - 2
    return `Q${x} ${y} ${isLast ? next.x : (x + next.x) / 2} ${isLast ? next.y : (y + next.y) / 2}`
  })
  const last = rest.at(-1)!
  return `M${first!.x} ${first!.y}${bends.length === 0 ? `L${last.x} ${last.y}` : bends.join('')}`
}
