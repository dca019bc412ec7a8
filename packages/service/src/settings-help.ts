import { type ClassConstructor } from 'class-transformer'
import { getMetadataStorage } from 'class-validator'
import { distance } from 'fastest-levenshtein'
import type { Variables } from './environment.js'

/** A variable within this edit distance of a setting's name is probably a misspelling of it. */
const MAX_LETTERS = 2

/** The heading under which `--help` lists a setting. */
export type SettingGroup = 'needed' | 'usual' | 'rare'

const HEADINGS: Readonly<Record<SettingGroup, string>> = { needed: 'Needed', usual: 'Usual', rare: 'Rarely set' }
const GROUPS = new WeakMap<object, Map<string, SettingGroup>>()

/** Sets the heading under which `--help` lists a setting; the default is `rare`. */
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

/** The text of `--help`: every variable with its default, one per line, required ones first. */
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
  if (groups === undefined) return formatHelp([names.map(lineOf).join('\n')])
  const blocks = Object.entries(HEADINGS).flatMap(([group, heading]) => {
    const listed = names.filter((name) => (groups?.get(name) ?? 'rare') === group)
    return listed.length === 0 ? [] : [`${heading}:\n${listed.map(lineOf).join('\n')}`]
  })
  return formatHelp(blocks)
}

function formatHelp(blocks: readonly string[]): string {
  return [
    'Settings are environment variables; these are their defaults.',
    ...blocks,
    'README.md says what each means.',
  ].join('\n\n')
}

/** Warns about each variable that is no setting but is spelt almost like one, and names that one. */
export function findMisspellings(settings: ClassConstructor<object>, variables: Variables): string[] {
  const names = namesOf(settings)
  return Object.keys(variables).flatMap((variable) => {
    if (names.includes(variable)) return []
    const meant = names.find((name) => distance(variable.toUpperCase(), name) <= MAX_LETTERS && name.length > 5)
    return meant === undefined ? [] : [`${variable} is not a setting: did you mean ${meant}?`]
  })
}
