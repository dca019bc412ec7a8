import { isObject } from './json.js'

/** The other forms of a call, by the field that the gateway knows them by. */
const FORMS = { userOperation: 'User operation', safeTransaction: 'Safe transaction' } as const

/** What a call is whose other fields are another form of one; undefined for any other. @param more of a `CallDraft` */
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
