import { useSyncExternalStore } from 'react'

/** A bill on its way from another view. */
let handed: string | undefined
const listeners = new Set<() => void>()

/** Has the view "Check" check this bill. */
export function handBill(bill: object): void {
  handed = JSON.stringify(bill, null, 2)
  for (const listener of listeners) listener()
}

/** The last bill that another view handed over. */
export function useHandedBill(): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => handed,
  )
}

/** Has the browser keep a bill as a file. */
export function saveBill(bill: object): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(bill, null, 2)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'bill.json'
  link.click()
  URL.revokeObjectURL(url)
}
