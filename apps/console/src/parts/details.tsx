import { type ReactNode, useState } from 'react'

/** Expandable details; content is rendered only when opened. */
export function Details({ title, isOpen = false, children }: { title: string; isOpen?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(isOpen)
  return (
    <details className="more" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {open && <div className="inside">{children}</div>}
    </details>
  )
}
