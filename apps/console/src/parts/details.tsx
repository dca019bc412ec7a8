import { type ReactNode, useState } from 'react'

/** More of an outcome, opened by a press; what is inside is made only then. */
export function Details({ title, isOpen = false, children }: { title: string; isOpen?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(isOpen)
  return (
    <details className="more" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {open && <div className="inside">{children}</div>}
    </details>
  )
}
