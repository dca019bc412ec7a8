import { Textarea, TextInput } from '@mantine/core'
import { createContext, type ReactNode, useContext } from 'react'
import type { DraftError } from '../request/draft-error.js'

/** The current error of the form. */
export const Fault = createContext<DraftError | undefined>(undefined)

interface Props {
  /** The path used in errors, such as `blocks.0.calls.0.value`; also the input's id. */
  field: string
  label: string
  value: string
  onEdit(value: string): void
  hint?: string
  /** What the value means, shown below it. */
  meaning?: ReactNode
  rows?: number
}

/** One input of the form, with its error. */
export function Field({ field, label, value, onEdit, hint, meaning, rows }: Props) {
  const fault = useContext(Fault)
  const common = {
    ...{ id: field, label, value, placeholder: hint, spellCheck: false, autoComplete: 'off' },
    description: meaning,
    inputWrapperOrder: ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[],
    error: fault?.field === field ? fault.reason : undefined,
    classNames: { input: 'typed' },
  }
  if (rows !== undefined) return <Textarea {...common} rows={rows} onChange={({ target }) => onEdit(target.value)} />
  return <TextInput {...common} onChange={({ target }) => onEdit(target.value)} />
}

/** Expands everything that hides the input, and focuses it. */
export function reveal(field: string | undefined): void {
  const input = field === undefined ? null : document.getElementById(field)
  if (input === null) return
  for (
    let around = input.closest('details');
    around !== null;
    around = around.parentElement?.closest('details') ?? null
  )
    around.open = true
  input.focus()
}

/** Marks a collapsed section that is not empty. */
export function mark(isSet: boolean): string {
  return isSet ? ' · set' : ''
}
