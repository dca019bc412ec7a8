import { Button, CopyButton } from '@mantine/core'

/** Preformatted text; wide content scrolls, by keyboard too. */
export function Code({ children }: { children: string }) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{children}</pre>
      <CopyButton value={children}>
        {({ copied, copy }) => (
          <Button size="compact-xs" variant="default" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </Button>
        )}
      </CopyButton>
    </div>
  )
}

/** Expandable JSON. */
export function Json({ title, value }: { title: string; value: unknown }) {
  return (
    <details className="json">
      <summary>{title}</summary>
      <Code>{JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? inner.toString() : inner), 2)}</Code>
    </details>
  )
}
