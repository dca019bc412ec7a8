import { type ClassConstructor } from 'class-transformer'
import { getMetadataStorage } from 'class-validator'
import { distance } from 'fastest-levenshtein'
import type { Variables } from './environment.js'

/** Two letters away from a setting's name, a variable is likely meant for it. */
const MOST_LETTERS = 2

/** Who needs a setting. */
export type SettingGroup = 'needed' | 'usual' | 'rare'

const HEADINGS: Readonly<Record<SettingGroup, string>> = { needed: 'Needed', usual: 'Usual', rare: 'Rarely set' }
const GROUPS = new WeakMap<object, Map<string, SettingGroup>>()

/** Says under which heading `--help` lists a setting; those without are rarely set. */
export function Listed(group: SettingGroup): PropertyDecorator {
  return (settings, name) => {
    const groups = GROUPS.get(settings) ?? new Map<string, SettingGroup>()
    GROUPS.set(settings, groups.set(String(name), group))
  }
}

/** The names of all settings, in the order of their class. */
function namesOf(settings: ClassConstructor<object>): string[] {
  const validated = getMetadataStorage()
    .getTargetValidationMetadatas(settings, '', false, false)
    .map(({ propertyName }) => propertyName)
  return [...new Set([...validated, ...Object.keys(new settings())])]
}

/** For `--help`: every variable with its default, one a line, those first that are needed. */
export function settingsHelp(settings: ClassConstructor<object>): string {
  const defaults = new settings() as Record<string, unknown>
  const names = namesOf(settings)
  const width = Math.max(...names.map((name) => name.length))
  const groups = GROUPS.get(settings.prototype)
  const lineOf = (name: string) => {
    const value = defaults[name]
    const shown = value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
    return `  ${name.padEnd(width)}  ${shown}`.trimEnd()
  }
  if (groups === undefined) return page([names.map(lineOf).join('\n')])
  const blocks = Object.entries(HEADINGS).flatMap(([group, heading]) => {
    const listed = names.filter((name) => (groups?.get(name) ?? 'rare') === group)
    return listed.length === 0 ? [] : [`${heading}:\n${listed.map(lineOf).join('\n')}`]
  })
  return page(blocks)
}

function page(blocks: readonly string[]): string {
  return [
    'Settings are environment variables; these are their defaults.',
    ...blocks,
    'README.md says what each means.',
  ].join('\n\n')
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
