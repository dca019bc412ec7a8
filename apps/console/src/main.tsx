import '@mantine/core/styles/baseline.css'
import '@mantine/core/styles/default-css-variables.css'
import '@mantine/core/styles/global.css'
import './mantine.css'
import './theme.css'
import './style.css'
import './parts/parts.css'
import './look/look.css'
import { Loader, MantineProvider } from '@mantine/core'
import { Activity, lazy, StrictMode, Suspense, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ChainProvider, useChain } from './chain/chain.js'
import { LookPage } from './look/look-page.js'
import { useView, VIEWS, type View } from './shell/route.js'
import { Top } from './shell/top.js'

const PAGES: Record<View['name'], React.ComponentType> = {
  Look: LookPage,
  Live: lazy(() => import('./live/live-page.js').then(({ LivePage }) => ({ default: LivePage }))),
  Pay: lazy(() => import('./pay/pay-page.js').then(({ PayPage }) => ({ default: PayPage }))),
  Check: lazy(() => import('./check/check-page.js').then(({ CheckPage }) => ({ default: CheckPage }))),
  Seller: lazy(() => import('./seller/seller-page.js').then(({ SellerPage }) => ({ default: SellerPage }))),
}

function Console() {
  const view = useView()
  const chain = useChain()
  // Visited views stay mounted, so that their forms keep their content.
  const [seen, setSeen] = useState<ReadonlySet<View['name']>>(new Set([view.name]))
  if (!seen.has(view.name)) setSeen(new Set([...seen, view.name]))
  useEffect(() => {
    document.title = [view.title, chain?.name, 'Upfront'].filter(Boolean).join(' · ')
  }, [view, chain])
  return (
    <>
      <Top view={view} />
      <main className="page">
        {VIEWS.filter(({ name }) => seen.has(name)).map(({ name, title }) => {
          const Page = PAGES[name]
          return (
            <Activity key={name} mode={name === view.name ? 'visible' : 'hidden'}>
              <h1 className="title">{title}</h1>
              <Suspense fallback={<Loader />}>
                <Page />
              </Suspense>
            </Activity>
          )
        })}
      </main>
    </>
  )
}

const root = document.getElementById('root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    {/* Its styles come as files: the page's security policy allows no inline ones. */}
    <MantineProvider defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
      <ChainProvider>
        <Console />
      </ChainProvider>
    </MantineProvider>
  </StrictMode>,
)
