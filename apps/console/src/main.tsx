import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { LivePage } from './live/live-page.js'
import { LookPage } from './look/look-page.js'
import './style.css'

const PAGES = [
  { name: 'Look', Page: LookPage },
  { name: 'Live', Page: LivePage },
] as const

function Console() {
  const [shown, setShown] = useState<(typeof PAGES)[number]['name']>('Look')
  return (
    <>
      <header>
        <h1>Upfront</h1>
        <nav aria-label="Pages">
          {PAGES.map(({ name }) => (
            <button
              key={name}
              type="button"
              aria-current={name === shown ? 'page' : undefined}
              onClick={() => setShown(name)}
            >
              {name}
            </button>
          ))}
        </nav>
      </header>
      <main>{PAGES.map(({ name, Page }) => name === shown && <Page key={name} />)}</main>
    </>
  )
}

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <Console />
  </StrictMode>,
)
