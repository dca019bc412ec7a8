import { Button, NativeSelect } from '@mantine/core'
import { type AbiFunction, decodeFunctionData, erc20Abi, getAbiItem, type Hex } from 'viem'
import { namedText } from '../names/decode.js'
import { argumentsOf, callTextOf, textOfCall } from '../request/abi.js'
import { accountForm } from '../request/account-form.js'
import type { CallDraft } from '../request/draft.js'
import { Field, mark } from './field.js'

interface Props {
  number: number
  /** For example `blocks.0.calls.0`. */
  field: string
  call: CallDraft
  /** Functions of the ABI by signature. */
  functions?: ReadonlyMap<string, AbiFunction>
  onEdit(call: CallDraft): void
  /** Absent for the only call. */
  onRemove?: (() => void) | undefined
  /** Whether nonce, fees and lists can be edited too. */
  isWhole?: boolean
}

interface FieldOf {
  name: keyof CallDraft
  label: string
  hint: string
}

const FIELDS: FieldOf[] = [
  { name: 'from', label: 'From', hint: '0x…' },
  { name: 'to', label: 'To (empty: create a contract)', hint: '0x…' },
  { name: 'value', label: 'Value (ether, or wei as 0x-hex)', hint: '0' },
  { name: 'data', label: 'Data (0x-hex, or a function)', hint: 'transfer(address,uint256) ["0x…", "1"]' },
]
const MORE_FIELDS: FieldOf[] = [
  { name: 'gas', label: 'Gas limit', hint: 'as much as it needs' },
  { name: 'nonce', label: 'Nonce', hint: 'the next' },
  { name: 'maxFeePerGas', label: 'Max fee (wei per gas)', hint: 'none' },
  { name: 'maxPriorityFeePerGas', label: 'Priority fee (wei per gas)', hint: 'none' },
  { name: 'gasPrice', label: 'Gas price (wei)', hint: 'none' },
]

export function CallForm({ number, field, call, functions, onEdit, onRemove, isWhole = false }: Props) {
  const input = ({ name, label, hint }: FieldOf) => (
    <Field
      key={name}
      field={`${field}.${name}`}
      label={label}
      hint={hint}
      value={call[name]}
      meaning={name === 'data' ? meaningOf(call.data, functions?.values() ?? []) : undefined}
      onEdit={(value) => onEdit({ ...call, [name]: value })}
    />
  )
  const form = accountForm(call.more)
  const more = [...MORE_FIELDS.map(({ name }) => name), 'more' as const]
  return (
    <fieldset className="call">
      <legend>Call {number}</legend>
      <div className="stack">
        {form === undefined ? (
          FIELDS.map(input)
        ) : (
          <Field
            field={`${field}.more`}
            label={`${form} as JSON`}
            rows={8}
            value={call.more}
            onEdit={(value) => onEdit({ ...call, more: value })}
          />
        )}
        {form === undefined && functions !== undefined && functions.size > 0 && (
          <FunctionForm functions={functions} data={call.data} onEdit={(data) => onEdit({ ...call, data })} />
        )}
        {isWhole && form === undefined && (
          <details>
            <summary>Gas, nonce and fees{mark(more.some((name) => call[name] !== ''))}</summary>
            <div className="stack">
              <div className="fields">{MORE_FIELDS.map(input)}</div>
              <Field
                field={`${field}.more`}
                label="Other fields as JSON: accessList, authorizationList, blobs"
                rows={2}
                value={call.more}
                onEdit={(value) => onEdit({ ...call, more: value })}
              />
            </div>
          </details>
        )}
        {onRemove && (
          <div>
            <Button variant="default" size="xs" onClick={onRemove}>
              Remove call {number}
            </Button>
          </div>
        )}
      </div>
    </fieldset>
  )
}

/** The function that 0x-hex calls, if the ABI or ERC-20 has it. */
function meaningOf(data: string, functions: Iterable<AbiFunction>): string | undefined {
  if (!/^0x([0-9a-f]{2}){4,}$/i.test(data.trim())) return undefined
  try {
    const abi = [...functions, ...erc20Abi]
    const { functionName, args = [] } = decodeFunctionData({ abi, data: data.trim() as Hex })
    const { inputs } = getAbiItem({ abi, name: functionName }) as AbiFunction
    return namedText({
      name: functionName,
      args: Object.fromEntries(args.map((value, at) => [inputs[at]?.name || `${at}`, String(value)])),
    })
  } catch {
    return undefined
  }
}

interface FunctionProps {
  functions: ReadonlyMap<string, AbiFunction>
  data: string
  onEdit(data: string): void
}

/** A function of the ABI with a field per argument. */
function FunctionForm({ functions, data, onEdit }: FunctionProps) {
  const { signature = '', args = '[]' } = callTextOf(data) ?? {}
  const inputs = functions.get(signature)?.inputs ?? []
  const types = inputs.map(({ type }) => type)
  const fields = argumentsOf(args)
  const choose = (chosen: string) => {
    const types = functions.get(chosen)?.inputs.map(({ type }) => type)
    onEdit(types === undefined ? '' : textOfCall(chosen, types, []))
  }
  return (
    <>
      <NativeSelect
        label="Function"
        value={functions.has(signature) ? signature : ''}
        onChange={({ target }) => choose(target.value)}
        data={[{ value: '', label: 'none: use the data above' }, ...functions.keys()]}
      />
      {inputs.map(({ name, type }, at) => (
        <Field
          key={at}
          field={`argument.${at}`}
          label={name ? `${name} (${type})` : `Argument ${at + 1} (${type})`}
          value={fields[at] ?? ''}
          onEdit={(value) =>
            onEdit(
              textOfCall(
                signature,
                types,
                types.map((_, own) => (own === at ? value : (fields[own] ?? ''))),
              ),
            )
          }
        />
      ))}
    </>
  )
}
