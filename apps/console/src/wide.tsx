import type { ReactNode } from 'react'

/** What may be wider than the screen: scrolls by itself, by keyboard too. */
export function Wide({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section className="wide" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
