import type { ReactNode } from 'react'

/** Content that may be wider than the screen: scrolls, by keyboard too. A group, because many regions would clutter a page's outline. */
export function Wide({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className="wide" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  )
}
