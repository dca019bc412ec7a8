import { IsOptional, IsString } from 'class-validator'
import { IsPort, IsWholeNumber } from './environment-rules.js'
import { findMisspellings, Listed, settingsHelp } from './settings-help.js'

class Settings {
  @Listed('usual')
  @IsPort()
  SERVICE_PORT = 8080

  @Listed('needed')
  @IsString()
  NODE_URL!: string

  @IsOptional()
  @IsWholeNumber(1)
  LIMIT?: number

  SHAPE: unknown = { sides: 4 }
}

it('lists every setting with its default, grouped by need', () => {
  expect(settingsHelp(Settings).split('\n').slice(2, -2)).toEqual([
    'Needed:',
    '  NODE_URL',
    '',
    'Usual:',
    '  SERVICE_PORT  8080',
    '',
    'Rarely set:',
    '  LIMIT',
    '  SHAPE         {"sides":4}',
  ])
})

it('suggests the setting that a misspelt variable was meant for', () => {
  const variables = {
    SERVICE_PROT: '1',
    NODE_URI: 'a',
    node_url: 'a',
    LIMITS: '1',
    PATH: '/',
    NODE_URL: 'a',
    SERVICE: '1',
  }
  expect(findMisspellings(Settings, variables)).toEqual([
    'SERVICE_PROT is not a setting: did you mean SERVICE_PORT?',
    'NODE_URI is not a setting: did you mean NODE_URL?',
    'node_url is not a setting: did you mean NODE_URL?',
  ])
})
