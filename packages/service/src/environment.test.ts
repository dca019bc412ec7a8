import { IsOptional, IsString } from 'class-validator'
import { EnvironmentError, readEnvironment, type Variables } from './environment.js'
import {
  Decoded,
  IsHttpUrl,
  IsLogLevel,
  IsPort,
  IsWholeNumber,
  List,
  type LogLevel,
  WholeNumber,
} from './environment-rules.js'

class Settings {
  @IsPort()
  PORT = 8080

  @IsHttpUrl()
  NODE_URL!: string

  @IsString({ message: 'must be set' })
  TOKEN!: string

  @IsLogLevel()
  LOG_LEVEL: LogLevel = 'info'

  @WholeNumber({ off: 0 })
  @IsWholeNumber(0, 100)
  LIMIT = 50

  @IsOptional()
  @List()
  NAMES?: string[]

  @Decoded((text) => JSON.parse(text, (_, value) => (value === 'bad' ? fail() : value)))
  SHAPE: unknown = { sides: 4 }
}

function fail(): never {
  throw new Error('SHAPE.sides: is not a number\nmust be regular')
}

const valid = { NODE_URL: 'https://node/key', TOKEN: 'secret' }
const read = (variables: Variables) =>
  readEnvironment(Settings, variables, { secrets: ['TOKEN', 'NODE_URL'], gone: { RATE: 'set LIMIT' } })

function problemsOf(variables: Variables): readonly string[] {
  try {
    read(variables)
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems
    throw error
  }
  return []
}

describe('readEnvironment', () => {
  it('applies defaults and treats an empty variable as unset', () => {
    const expected = { ...valid, PORT: 8080, LIMIT: 50, LOG_LEVEL: 'info', SHAPE: { sides: 4 } }
    expect({ ...read({ ...valid, PORT: '' }) }).toMatchObject(expected)
  })

  it('reads numbers, words that stand for numbers, lists and decoded values', () => {
    const given = { ...valid, PORT: '0', LIMIT: 'off', NAMES: 'a, b', SHAPE: '{"sides":3}' }
    expect(read(given)).toMatchObject({ PORT: 0, LIMIT: 0, NAMES: ['a', 'b'], SHAPE: { sides: 3 } })
    expect(read({ ...valid, NAMES: 'none' }).NAMES).toEqual([])
  })

  it('drops variables that the class does not declare', () => {
    expect(Object.keys(read({ ...valid, AWS_SECRET_ACCESS_KEY: 'x' }))).not.toContain('AWS_SECRET_ACCESS_KEY')
  })

  it('reports every bad variable in one error without showing secrets', () => {
    const given = { PORT: '0x10', LOG_LEVEL: 'loud', LIMIT: '101', NODE_URL: 'ftp://hunter2', SHAPE: '["bad"]' }
    const problems = problemsOf(given)
    expect(problems).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^PORT: .* \(got "0x10"\)$/),
        'NODE_URL: is not an http(s) URL',
        'TOKEN: must be set',
        expect.stringMatching(/^LOG_LEVEL: must be one of the following values: fatal, .* \(got "loud"\)$/),
        'LIMIT: must not be greater than 100',
        'SHAPE.sides: is not a number',
        'SHAPE: must be regular',
      ]),
    )
    expect(problems).toHaveLength(7)
  })

  it('names the replacement of a removed setting', () => {
    expect(problemsOf({ ...valid, RATE: '5' })).toEqual(['RATE: has been removed: set LIMIT'])
    expect(problemsOf({ ...valid, RATE: '' })).toEqual([])
  })
})
