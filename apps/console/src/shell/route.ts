import { useSyncExternalStore } from 'react'

/** The views and their paths. */
export const VIEWS = [
  { name: 'Look', path: '/console/', title: 'Look before you sign' },
  { name: 'Live', path: '/console/live', title: 'Live' },
  { name: 'Pay', path: '/console/pay', title: 'Pay for an answer' },
  { name: 'Check', path: '/console/check', title: 'Check a bill' },
  { name: 'Seller', path: '/console/seller', title: 'Seller' },
] as const

export type View = (typeof VIEWS)[number]

const listeners = new Set<() => void>()
window.addEventListener('popstate', () => {
  for (const listener of listeners) listener()
})

/** Navigates within this page. Back returns, unless `replaces` is set. */
export function goTo(url: string, replaces = false): void {
  if (replaces) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The view of the current path. */
export function useView(): View {
  const path = useSyncExternalStore(subscribe, () => location.pathname)
  return VIEWS.find((view) => view.path === path) ?? VIEWS[0]
}

/** The fragment of the current URL. */
export function useFragment(): string {
  return useSyncExternalStore(subscribe, () => location.hash)
}
