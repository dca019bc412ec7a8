import { type JsonSchema, ref } from './schemas.js'

/** One entry of `methods`: https://spec.open-rpc.org/#method-object */
export interface OpenRpcMethod {
  name: string
  summary: string
  paramStructure: 'by-position'
  params: { name: string; required: boolean; schema: JsonSchema }[]
  result: { name: string; schema: JsonSchema }
  errors?: { code: number; message: string }[]
  examples?: { name: string; params: { name: string; value: unknown }[]; result: { name: string; value: unknown } }[]
  externalDocs?: { url: string; description: string }
}

type Parameter = OpenRpcMethod['params'][number]

export function required(name: string, schema: JsonSchema): Parameter {
  return { name, required: true, schema }
}

export function optional(name: string, schema: JsonSchema): Parameter {
  return { name, required: false, schema }
}

/** Parameters that many methods share. */
export const CALL = required('call', ref('Call'))
export const BLOCK = optional('block', ref('BlockParameter'))
export const STATE = optional('block', ref('StateParameter'))
export const STATE_OVERRIDES: JsonSchema = { type: 'object', additionalProperties: ref('AccountOverride') }

/** @param result its name and its schema */
export function method(
  name: string,
  summary: string,
  params: readonly Parameter[],
  [resultName, schema]: readonly [name: string, schema: JsonSchema],
  further: Pick<OpenRpcMethod, 'errors' | 'examples' | 'externalDocs'> = {},
): OpenRpcMethod {
  const result = { name: resultName, schema }
  return { name, summary, paramStructure: 'by-position', params: [...params], result, ...further }
}
