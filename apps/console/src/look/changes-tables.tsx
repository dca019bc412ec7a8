import { hexToBigInt } from 'viem'
import type { Named } from '../names/decode.js'
import { Address, Hash } from '../parts/address.js'
import { Table } from '../parts/table.js'
import { Text } from '../parts/text.js'
import type { Change, Log, StateDiff } from './answer.js'
import {
  type Approval,
  type AssetChanges,
  amountText,
  approvalText,
  contradictedTransfers,
  isContradicted,
  isEndless,
} from './assets.js'
import { Called } from './call-tree.js'
import type { NameOf } from './name-of.js'
import { meaningOf, type SlotMeaning } from './slots.js'
import type { UnitsOf } from './token-units.js'

/** Transfers, and who may take what from now on. */
export function AssetTables({ changes, nameOf, id }: { changes: AssetChanges; nameOf: NameOf; id: string }) {
  const { transfers, approvals } = changes
  const contradicted = contradictedTransfers(changes)
  return (
    <div id={id}>
      {transfers.length > 0 && (
        <Table
          caption="What changes hands"
          isCaptionHidden
          rows={transfers}
          rowKey={(_, index) => index}
          columns={[
            {
              head: 'Amount',
              cell: (transfer) => (
                <>
                  {contradicted.has(transfer) && <span className="bad">⚠ contradicted by the token’s balances: </span>}
                  <span className="whole">{amountText(transfer, transfer.amount)}</span>{' '}
                  {transfer.address && <Address value={transfer.address} />}
                </>
              ),
            },
            {
              head: 'From → to',
              cell: ({ from, to }) => (
                <span className="row">
                  <Address value={from} name={nameOf(from)} /> → <Address value={to} name={nameOf(to)} />
                </span>
              ),
            },
          ]}
        />
      )}
      {approvals.length > 0 && (
        <Table
          caption="Who may spend what from now on"
          rows={approvals}
          rowKey={(_, index) => index}
          columns={[
            { head: 'Spender', cell: ({ spender }) => <Address value={spender} name={nameOf(spender)} /> },
            { head: 'May', cell: (approval) => <May approval={approval} /> },
            { head: 'Of', cell: ({ owner }) => <Address value={owner} name={nameOf(owner)} /> },
          ]}
        />
      )}
    </div>
  )
}

function May({ approval }: { approval: Approval }) {
  return (
    <>
      {isContradicted(approval) && <span className="bad">⚠ contradicted by the token: </span>}
      <span className={isEndless(approval) ? 'caution' : undefined}>{approvalText(approval)}</span>
    </>
  )
}

interface StateRow {
  account: string
  what: React.ReactNode
  from: string
  to: string
}

/** State changes by contract, with the meaning of slots if known. */
export function StateTable({
  diff,
  nameOf,
  slots,
}: {
  diff: StateDiff
  nameOf: NameOf
  slots: ReadonlyMap<string, SlotMeaning>
}) {
  const rows = Object.entries(diff).flatMap(([account, { balance, nonce, code, storage }]): StateRow[] => {
    const row = (what: React.ReactNode, { from, to }: Change, text: (value: `0x${string}`) => string): StateRow => ({
      ...{ account, what, from: text(from), to: text(to) },
    })
    return [
      ...(balance ? [row('balance', balance, (value) => amountText({ type: 'native' }, value))] : []),
      ...(nonce ? [row('nonce', nonce, (value) => hexToBigInt(value).toString())] : []),
      ...(code ? [row('code', code, codeText)] : []),
      ...Object.entries(storage ?? {}).map(([slot, change]) => {
        const meaning = meaningOf(account, slot, slots)
        return meaning === undefined
          ? row(
              <>
                slot <Hash value={slot} />
              </>,
              change,
              wordText,
            )
          : row(<Text nameOf={nameOf}>{meaning.name}</Text>, change, meaning.text)
      }),
    ]
  })
  return (
    <Table
      caption="What changes in the state"
      isCaptionHidden
      rows={rows}
      rowKey={(_, index) => index}
      columns={[
        { head: 'Account', cell: ({ account }) => <Address value={account} name={nameOf(account)} /> },
        { head: 'What', cell: ({ what }) => what },
        { head: 'Before', isNumber: true, cell: ({ from }) => from },
        { head: 'After', isNumber: true, cell: ({ to }) => to },
      ]}
    />
  )
}

function codeText(code: string): string {
  if (code === '0x') return 'none'
  // https://eips.ethereum.org/EIPS/eip-7702
  if (/^0xef0100[0-9a-f]{40}$/.test(code)) return `delegated to 0x${code.slice(8)}`
  return `${(code.length - 2) / 2} bytes`
}

function wordText(word: string): string {
  const value = BigInt(word)
  return value < 10n ** 24n ? value.toLocaleString('en') : `0x${value.toString(16).slice(0, 6)}…${word.slice(-6)}`
}

/** Logs with their events. @param named in the order of the logs */
export function LogTable({
  logs,
  named,
  nameOf,
  unitsOf,
}: {
  logs: Log[]
  named: (Named | null)[]
  nameOf: NameOf
  unitsOf: UnitsOf
}) {
  return (
    <Table
      caption="Logs"
      isCaptionHidden
      rows={logs.map((log, at) => ({ ...log, event: named[at] }))}
      rowKey={(_, index) => index}
      columns={[
        { head: 'Contract', cell: ({ address }) => <Address value={address} name={nameOf(address)} /> },
        {
          head: 'Event',
          cell: ({ event, topics, address }) =>
            event ? (
              <Called named={event} to={address} nameOf={nameOf} unitsOf={unitsOf} />
            ) : (
              <>
                <span className="quiet">not named by any ABI here:</span>{' '}
                {topics[0] ? <Hash value={topics[0]} /> : 'no topic'}
              </>
            ),
        },
      ]}
    />
  )
}
