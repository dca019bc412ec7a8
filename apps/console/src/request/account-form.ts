import { isObject } from './json.js'

/** Other forms of a call, by their field in the gateway's API. */
const FORMS = { userOperation: 'User operation', safeTransaction: 'Safe transaction' } as const

/** The form of a call given as a user operation or Safe transaction; undefined otherwise. @param more of a `CallDraft` */
export function accountForm(more: string): (typeof FORMS)[keyof typeof FORMS] | undefined {
  if (!/"(userOperation|safeTransaction)"/.test(more)) return undefined
  try {
    const fields = JSON.parse(more)
    const name = isObject(fields) && (Object.keys(FORMS) as (keyof typeof FORMS)[]).find((form) => form in fields)
    return name ? FORMS[name] : undefined
  } catch {
    return undefined
  }
}
