import { Button, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useChain } from '../chain/chain.js'
import { useFeed } from '../live/feed.js'
import { goTo, VIEWS, type View } from './route.js'

/** The page's name, the views, and the chain with its head and age. */
export function Top({ view }: { view: View }) {
  return (
    <header className="top">
      <div>
        <span className="brand">
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <rect width="16" height="16" rx="4" fill="var(--mantine-primary-color-filled)" />
            <path fill="#fff" d="M8 3 12.5 8.5h-3V13h-3V8.5h-3z" />
          </svg>
          Upfront
        </span>
        <nav className="views" aria-label="Views">
          {VIEWS.map(({ name, path }) => (
            <a
              key={name}
              href={path}
              aria-current={name === view.name ? 'page' : undefined}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey) return
                event.preventDefault()
                goTo(path)
              }}
            >
              {name}
            </a>
          ))}
        </nav>
        <ChainState />
        <SchemeButton />
      </div>
    </header>
  )
}

/** Seconds without a head before the chain counts as late. */
const LATE_SECONDS = 30

function ChainState() {
  const chain = useChain()
  const head = useFeed((feed) => feed.head)
  const connection = useFeed((feed) => feed.connection)
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const age = head === undefined ? undefined : Math.max(0, Math.round((now - head.at) / 1_000))
  const look = connection === 'lost' ? 'lost' : age === undefined || age > LATE_SECONDS ? 'late' : ''
  return (
    <p className="chain" title="The chain, its newest block, and that block’s age">
      <span className={`pulse ${look}`} aria-hidden="true" />
      <strong>{chain?.name ?? 'connecting …'}</strong>
      {head && (
        <span>
          #{head.number.toString()} <span className="quiet">· {ageText(age!)}</span>
        </span>
      )}
    </p>
  )
}

function ageText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <Button
      variant="default"
      size="compact-sm"
      className="scheme"
      aria-label={`Switch to ${other}`}
      onClick={() => setColorScheme(other)}
    >
      {scheme === 'dark' ? '☀' : '☾'}
    </Button>
  )
}
