import { applyDecorators } from '@nestjs/common'
import { Transform } from 'class-transformer'
import { IsIn, IsInt, Max, Min, ValidateBy } from 'class-validator'

/** Reads decimal digits as a number; other text is kept for `@IsInt()` to refuse. `words` maps words to numbers. */
export function WholeNumber(words: Readonly<Record<string, number>> = {}): PropertyDecorator {
  return Transform(({ value }) => {
    if (typeof value !== 'string') return value
    if (Object.hasOwn(words, value)) return words[value]
    return /^\d{1,15}$/.test(value) ? Number(value) : value
  })
}

/** Reads `a, b` as `['a', 'b']`, and `none` as `[]`. */
export function List(): PropertyDecorator {
  return Transform(({ value }) => {
    if (typeof value !== 'string') return value
    return value === 'none' ? [] : value.split(',').map((entry) => entry.trim())
  })
}

/** A TCP port to listen on; 0 picks a free one. */
export function IsPort(): PropertyDecorator {
  return applyDecorators(WholeNumber(), IsInt(), Min(0), Max(65_535))
}

/** A whole number from `least` to `most`. */
export function IsWholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): PropertyDecorator {
  return applyDecorators(WholeNumber(), IsInt(), Min(least), Max(most))
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function IsLogLevel(): PropertyDecorator {
  return IsIn(LOG_LEVELS)
}

/** An http(s) URL. The rule's message does not quote it, but `readEnvironment` does unless the variable is among its `secrets`. */
export function IsHttpUrl(): PropertyDecorator {
  return ValidateBy({
    name: 'isHttpUrl',
    validator: { validate: isHttpUrl, defaultMessage: () => 'is not an http(s) URL' },
  })
}

export function isHttpUrl(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

/** The reason why a decoder refused a value. */
class Refused {
  constructor(readonly reason: string) {}
}

/**
 * Decodes a variable with `decode`. Each line of its error's message becomes a problem of the variable; a line that begins with the
 * variable's name is shown unchanged.
 */
export function Decoded(decode: (text: string) => unknown): PropertyDecorator {
  const transform = Transform(({ value }) => {
    if (typeof value !== 'string') return value
    try {
      return decode(value)
    } catch (error) {
      return new Refused(error instanceof Error ? error.message : 'is not valid')
    }
  })
  const validate = ValidateBy({
    name: 'decoded',
    validator: {
      validate: (value) => value !== undefined && !(value instanceof Refused),
      defaultMessage: (of) => (of?.value instanceof Refused ? of.value.reason : 'must be set'),
    },
  })
  return applyDecorators(transform, validate)
}
