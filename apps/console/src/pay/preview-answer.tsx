import { toHex } from 'viem'
import { type Asset, amountText } from '../look/assets.js'
import { Address } from '../parts/address.js'
import { Json } from '../parts/code.js'
import { Table } from '../parts/table.js'

/** The part of a preview that is shown; numbers are decimal strings. */
interface Preview {
  status?: string
  gasUsed?: string
  revertReason?: string | null
  failedAt?: { reason?: string; to?: string } | null
  changes?: Change[]
  moreChanges?: number
  /** `flashblock` is null for a sealed block. */
  block?: { number?: string; state?: string; flashblock?: number | null }
  charge?: { usage?: Record<string, string | number>; priceList?: { version?: string } }
}

interface Change {
  address: string
  type: Asset['type']
  token?: `0x${string}`
  tokenId?: string
  /** A signed number. */
  amount: string
  confirmation?: string
  symbol?: string
  decimals?: number
}

/** The purchased preview, shown as on Look. */
export function PreviewAnswer({ answer }: { answer: Preview }) {
  const { status, gasUsed, revertReason, changes = [], block, charge, moreChanges = 0 } = answer
  const isGood = status === 'success'
  return (
    <div className="stack">
      <p className="verdict">
        <span className={isGood ? 'good pill' : 'bad'}>
          {isGood ? '✓ Succeeds' : `✗ Fails${revertReason ? `: ${revertReason}` : ''}`}
        </span>
        {gasUsed && <span className="quiet">{BigInt(gasUsed).toLocaleString('en')} gas</span>}
      </p>
      {block && (
        <p className="quiet meta">
          As block {block.number}, on{' '}
          {block.state === 'preconfirmed' ? 'the block under construction' : 'the newest block'}
          {typeof block.flashblock === 'number' && ` (flashblock ${block.flashblock})`}
        </p>
      )}
      {changes.length > 0 && (
        <Table
          caption="Who gains and who loses"
          rows={changes}
          rowKey={(_, at) => at}
          columns={[
            { head: 'Account', cell: ({ address }) => <Address value={address} /> },
            { head: 'Change', isNumber: true, cell: (change) => <Gain change={change} /> },
            {
              head: 'By the token’s balances',
              cell: ({ confirmation }) =>
                confirmation === 'disagrees' ? <span className="bad">⚠ contradicted</span> : confirmation,
            },
          ]}
        />
      )}
      {moreChanges > 0 && <p className="quiet">{moreChanges} more changes are not listed.</p>}
      {charge?.usage && (
        <Table
          caption={`Charged items, by the price list ${charge.priceList?.version ?? ''}`}
          rows={Object.entries(charge.usage)}
          rowKey={([name]) => name}
          columns={[
            { head: 'Used', cell: ([name]) => USAGE[name] ?? name },
            { head: 'How much', isNumber: true, cell: ([, amount]) => Number(amount).toLocaleString('en') },
          ]}
        />
      )}
      <Json title="Answer as JSON" value={answer} />
    </div>
  )
}

const USAGE: Record<string, string> = {
  gas: 'gas',
  accounts: 'accounts touched',
  slots: 'storage slots touched',
  witnessBytes: 'bytes of witness',
}

function Gain({ change: { amount, token, tokenId, type, symbol, decimals } }: { change: Change }) {
  const units = BigInt(amount)
  const text = amountText(
    {
      type,
      ...(symbol !== undefined && { symbol }),
      ...(decimals !== undefined && { decimals }),
      ...(token && { address: token }),
      ...(tokenId && { tokenId: toHex(BigInt(tokenId)) }),
    },
    toHex(units < 0n ? -units : units),
  )
  return <span className={units < 0n ? 'bad' : 'good'}>{`${units < 0n ? '−' : '+'}${text}`}</span>
}
