/** Text as it is; what is wide scrolls, by keyboard too. */
export function Code({ children }: { children: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
  return <pre tabIndex={0}>{children}</pre>
}
