import type { AbiFunction } from 'viem'
import { argumentsOf, callTextOf, textOfCall } from '../request/abi.js'
import type { CallDraft } from '../request/draft.js'

interface Props {
  number: number
  call: CallDraft
  /** Of the ABI, by signature. */
  functions?: ReadonlyMap<string, AbiFunction>
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

export function CallForm({ number, call, functions, onEdit, onRemove }: Props) {
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
      {functions !== undefined && functions.size > 0 && (
        <FunctionForm functions={functions} data={call.data} onEdit={(data) => onEdit({ ...call, data })} />
      )}
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove call {number}
        </button>
      )}
    </fieldset>
  )
}

interface FunctionProps {
  functions: ReadonlyMap<string, AbiFunction>
  data: string
  onEdit(data: string): void
}

/** The data as a function of the ABI with a field for each argument. */
function FunctionForm({ functions, data, onEdit }: FunctionProps) {
  const { signature = '', args = '[]' } = callTextOf(data) ?? {}
  const inputs = functions.get(signature)?.inputs ?? []
  const types = inputs.map(({ type }) => type)
  const fields = argumentsOf(args)
  return (
    <>
      <label>
        Function
        <select
          value={functions.has(signature) ? signature : ''}
          onChange={({ target: { value } }) => {
            const chosen = functions.get(value)
            onEdit(
              chosen === undefined
                ? ''
                : textOfCall(
                    value,
                    chosen.inputs.map(({ type }) => type),
                    [],
                  ),
            )
          }}
        >
          <option value="">none: the data above</option>
          {[...functions.keys()].map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      </label>
      {inputs.map(({ name, type }, at) => (
        <label key={at}>
          {name ? `${name} (${type})` : `Argument ${at + 1} (${type})`}
          <input
            value={fields[at] ?? ''}
            spellCheck={false}
            autoComplete="off"
            onChange={({ target: { value } }) =>
              onEdit(
                textOfCall(
                  signature,
                  types,
                  types.map((_, own) => (own === at ? value : (fields[own] ?? ''))),
                ),
              )
            }
          />
        </label>
      ))}
    </>
  )
}
