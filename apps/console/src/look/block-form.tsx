import type { AbiFunction } from 'viem'
import { type AccountDraft, type BlockDraft, EMPTY_ACCOUNT, EMPTY_CALL } from '../request/draft.js'
import { CallForm } from './call-form.js'

interface Props {
  number: number
  block: BlockDraft
  functions: ReadonlyMap<string, AbiFunction>
  onEdit(block: BlockDraft): void
  /** Absent for the only block. */
  onRemove: (() => void) | undefined
}

const ACCOUNT_FIELDS: { name: keyof AccountDraft; label: string }[] = [
  { name: 'address', label: 'Address' },
  { name: 'balance', label: 'Balance (ether, or wei as 0x-hex)' },
  { name: 'nonce', label: 'Nonce' },
  { name: 'code', label: 'Code (0x-hex)' },
  { name: 'slot', label: 'Storage slot' },
  { name: 'value', label: 'What the slot holds' },
]
const BLOCK_FIELDS = [
  { name: 'number', label: 'Block number' },
  { name: 'time', label: 'Time (seconds since 1970)' },
  { name: 'baseFee', label: 'Base fee (wei)' },
] as const

/** One block of the request: its calls, what is overridden before them, and the block's own fields. */
export function BlockForm({ number, block, functions, onEdit, onRemove }: Props) {
  const { calls, accounts } = block
  return (
    <section aria-label={`Block ${number}`}>
      {onRemove && <h3>Block {number}</h3>}
      {calls.map((call, index) => (
        <CallForm
          key={index}
          number={index + 1}
          call={call}
          functions={functions}
          onEdit={(changed) => onEdit({ ...block, calls: calls.with(index, changed) })}
          onRemove={calls.length > 1 ? () => onEdit({ ...block, calls: calls.toSpliced(index, 1) }) : undefined}
        />
      ))}
      <details open={block.overrides !== '' || accounts.length > 0}>
        <summary>State overrides</summary>
        {accounts.map((account, index) => (
          <fieldset key={index}>
            <legend>Account {index + 1}</legend>
            {ACCOUNT_FIELDS.map(({ name, label }) => (
              <Field
                key={name}
                label={label}
                value={account[name]}
                onEdit={(value) => onEdit({ ...block, accounts: accounts.with(index, { ...account, [name]: value }) })}
              />
            ))}
            <button type="button" onClick={() => onEdit({ ...block, accounts: accounts.toSpliced(index, 1) })}>
              Remove account {index + 1}
            </button>
          </fieldset>
        ))}
        <button type="button" onClick={() => onEdit({ ...block, accounts: [...accounts, EMPTY_ACCOUNT] })}>
          Override an account
        </button>
        <label>
          JSON by address, as eth_simulateV1 takes it
          <textarea
            rows={4}
            spellCheck={false}
            value={block.overrides}
            onChange={({ target: { value } }) => onEdit({ ...block, overrides: value })}
          />
        </label>
      </details>
      <details open={BLOCK_FIELDS.some(({ name }) => block[name] !== '')}>
        <summary>The block itself</summary>
        {BLOCK_FIELDS.map(({ name, label }) => (
          <Field key={name} label={label} value={block[name]} onEdit={(value) => onEdit({ ...block, [name]: value })} />
        ))}
      </details>
      <p className="buttons">
        <button type="button" onClick={() => onEdit({ ...block, calls: [...calls, EMPTY_CALL] })}>
          Add a call
        </button>
        {onRemove && (
          <button type="button" onClick={onRemove}>
            Remove block {number}
          </button>
        )}
      </p>
    </section>
  )
}

function Field({ label, value, onEdit }: { label: string; value: string; onEdit(value: string): void }) {
  return (
    <label>
      {label}
      <input value={value} spellCheck={false} autoComplete="off" onChange={({ target }) => onEdit(target.value)} />
    </label>
  )
}
