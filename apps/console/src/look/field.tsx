import { Textarea, TextInput } from '@mantine/core'
import { createContext, type ReactNode, useContext } from 'react'
import type { DraftError } from '../request/draft-error.js'

/** What is wrong in the form at the moment. */
export const Fault = createContext<DraftError | undefined>(undefined)

interface Props {
  /** `blocks.0.calls.0.value`, as errors name it: the input's id. */
  field: string
  label: string
  value: string
  onEdit(value: string): void
  hint?: string
  /** What the value means, below it. */
  meaning?: ReactNode
  rows?: number
}

/** One input of the form, with what is wrong with it beside it. */
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

/** Opens what hides the input, and puts the cursor there. */
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

/** Says of what is folded away that there is something in it. */
export function mark(isSet: boolean): string {
  return isSet ? ' · set' : ''
}
