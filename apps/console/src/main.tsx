import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { LivePage } from './live/live-page.js'
import { LookPage } from './look/look-page.js'
import { PayPage } from './pay/pay-page.js'
import { SellerPage } from './seller/seller-page.js'
import './style.css'

const PAGES = [
  { name: 'Look', path: '/console/', Page: LookPage },
  { name: 'Live', path: '/console/', Page: LivePage },
  { name: 'Pay', path: '/console/', Page: PayPage },
  { name: 'Seller', path: '/console/seller', Page: SellerPage },
] as const

function Console() {
  const [shown, setShown] = useState<(typeof PAGES)[number]['name']>(
    location.pathname.endsWith('/seller') ? 'Seller' : 'Look',
  )
  return (
    <>
      <header>
        <h1>Upfront</h1>
        <nav aria-label="Pages">
          {PAGES.map(({ name, path }) => (
            <button
              key={name}
              type="button"
              aria-current={name === shown ? 'page' : undefined}
              onClick={() => {
                history.replaceState(null, '', path)
                setShown(name)
              }}
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
