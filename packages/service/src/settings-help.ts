import { type ClassConstructor } from 'class-transformer'
import { getMetadataStorage } from 'class-validator'
import { distance } from 'fastest-levenshtein'
import type { Variables } from './environment.js'

/** Two letters away from a setting's name, a variable is likely meant for it. */
const MOST_LETTERS = 2

/** The names of all settings, in the order of their class. */
function namesOf(settings: ClassConstructor<object>): string[] {
  const validated = getMetadataStorage()
    .getTargetValidationMetadatas(settings, '', false, false)
    .map(({ propertyName }) => propertyName)
  return [...new Set([...validated, ...Object.keys(new settings())])]
}

/** For `--help`: every variable with its default, one a line. */
export function settingsHelp(settings: ClassConstructor<object>): string {
  const defaults = new settings() as Record<string, unknown>
  const names = namesOf(settings)
  const width = Math.max(...names.map((name) => name.length))
  const lines = names.map((name) => {
    const value = defaults[name]
    const shown = value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
    return `  ${name.padEnd(width)}  ${shown}`.trimEnd()
  })
  return `Settings are environment variables; these are their defaults:\n${lines.join('\n')}\nREADME.md says what each means.`
}

/** Says of each variable that is no setting, but written much like one, which it may be meant for. */
export function misspelt(settings: ClassConstructor<object>, variables: Variables): string[] {
  const names = namesOf(settings)
  return Object.keys(variables).flatMap((variable) => {
    if (names.includes(variable)) return []
    const meant = names.find((name) => distance(variable.toUpperCase(), name) <= MOST_LETTERS && name.length > 5)
    return meant === undefined ? [] : [`${variable} is no setting: did you mean ${meant}?`]
  })
}
