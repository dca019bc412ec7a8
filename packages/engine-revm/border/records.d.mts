/** The table's types, as read by the test of the border. */
export type FieldType =
  | { kind: 'number' | 'quantity'; rust: string }
  | { kind: 'flag' | 'text' }
  | { kind: 'hex'; bytes?: number }
  | { kind: 'optional' | 'nullable' | 'list'; item: FieldType }
  | { kind: 'pair'; first: FieldType; second: FieldType }
  | { kind: 'map'; key: FieldType; value: FieldType }
  | { kind: 'names'; rust: string; variants: Record<string, string> }
  | RecordType
  | UnionType

export interface Field {
  /** The name in TypeScript with its default; `plain` is the name alone. */
  ts: string
  plain: string
  type: FieldType
}

export interface RecordType {
  kind: 'record'
  name: string
  to: 'rust' | 'typescript' | 'both'
  rust?: string
  fields: Field[]
}

export interface UnionType {
  kind: 'union'
  name: string
  to: 'rust' | 'typescript' | 'both'
  variants: { tag: string; fields: Field[] }[]
}

export const records: FieldType[]
