import { useSyncExternalStore } from 'react'

/** A bill handed over by another view. */
let handed: string | undefined
const listeners = new Set<() => void>()

/** Passes a bill to the view "Check". */
export function handBill(bill: object): void {
  handed = JSON.stringify(bill, null, 2)
  for (const listener of listeners) listener()
}

/** The last bill handed over by another view. */
export function useHandedBill(): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => handed,
  )
}

/** Saves a bill as a file in the browser. */
export function saveBill(bill: object): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(bill, null, 2)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = 'bill.json'
  link.click()
  URL.revokeObjectURL(url)
}
