import type { JsonSchema } from './schemas.js'

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
