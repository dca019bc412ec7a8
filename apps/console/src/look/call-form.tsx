import type { CallDraft } from '../request/draft.js'

interface Props {
  number: number
  call: CallDraft
  onEdit(call: CallDraft): void
  /** Absent for the only call. */
  onRemove: (() => void) | undefined
}

const FIELDS: { name: keyof CallDraft; label: string; hint: string }[] = [
  { name: 'from', label: 'From', hint: '0x…' },
  { name: 'to', label: 'To (empty: create a contract)', hint: '0x…' },
  { name: 'value', label: 'Value (ether, or wei as 0x-hex)', hint: '0' },
  { name: 'data', label: 'Data (0x-hex, or a function)', hint: 'transfer(address,uint256) ["0x…", "1"]' },
]

export function CallForm({ number, call, onEdit, onRemove }: Props) {
  return (
    <fieldset>
      <legend>Call {number}</legend>
      {FIELDS.map(({ name, label, hint }) => (
        <label key={name}>
          {label}
          <input
            value={call[name]}
            placeholder={hint}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target: { value } }) => onEdit({ ...call, [name]: value })}
          />
        </label>
      ))}
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove call {number}
        </button>
      )}
    </fieldset>
  )
}
