import { CopyButton, UnstyledButton } from '@mantine/core'
import { checksumAddress, type Hex, keccak256 } from 'viem'
import { addressName } from '../address-text.js'

/** An icon derived from the address, recognised more quickly than digits. Five columns, of which the right ones mirror the left. */
function Mark({ address }: { address: string }) {
  const digits = [...keccak256(address as Hex).slice(2)].map((digit) => Number.parseInt(digit, 16))
  const hue = (digits[0]! * 16 + digits[1]!) * (360 / 256)
  const cells = digits.slice(2, 17)
  return (
    <svg className="mark" viewBox="0 0 5 5" aria-hidden="true">
      <rect width="5" height="5" fill={`hsl(${hue} 45% 88%)`} />
      {cells.map((digit, at) => {
        if (digit % 2 === 0) return null
        const [x, y] = [at % 3, Math.floor(at / 3)]
        const fill = `hsl(${(hue + digit * 12) % 360} 60% 42%)`
        return (
          <g key={at} fill={fill}>
            <rect x={x} y={y} width="1" height="1" />
            {x < 2 && <rect x={4 - x} y={y} width="1" height="1" />}
          </g>
        )
      })}
    </svg>
  )
}

/** An address: its icon and its name or shortened form. A click copies all of it, checksummed (EIP-55). */
export function Address({ value, name }: { value: string; name?: string | undefined }) {
  const whole = checksumAddress(value.toLowerCase() as Hex)
  const shown = name ?? addressName(value)
  return <Copied whole={whole} shown={shown} mark={<Mark address={value.toLowerCase()} />} />
}

/** A shortened hash; a click copies all of it. */
export function Hash({ value }: { value: string }) {
  return <Copied whole={value} shown={value.length > 20 ? `${value.slice(0, 10)}…${value.slice(-6)}` : value} />
}

function Copied({ whole, shown, mark }: { whole: string; shown: string; mark?: React.ReactNode }) {
  return (
    <CopyButton value={whole}>
      {({ copied, copy }) => (
        <UnstyledButton
          className="address"
          title={`${whole} (press to copy)`}
          aria-label={`${shown}, copy ${whole}`}
          onClick={copy}
        >
          {mark}
          <span>{copied ? 'copied' : shown}</span>
        </UnstyledButton>
      )}
    </CopyButton>
  )
}
