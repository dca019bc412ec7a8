/** A parsed ABI type. */
export type AbiType =
  | { kind: 'word'; read: (word: string) => string | boolean }
  | { kind: 'bytes' | 'string' }
  | { kind: 'array'; item: AbiType; length: number | undefined; isDynamic: boolean }
  | { kind: 'tuple'; fields: AbiField[]; isDynamic: boolean }

export interface AbiField {
  /** Its position if the ABI has no name. */
  name: string
  type: AbiType
}

/** A parameter as compilers write it, unchecked. */
export interface AbiParameter {
  type?: unknown
  name?: unknown
  indexed?: unknown
  components?: unknown
}

/** Limits per name or type, and for all parameters of an ABI. Real ABIs are far below. */
const MAX_CHARACTERS = 256
const MAX_PARAMETERS = 20_000

/** Parses the types of one ABI. */
export class AbiTypes {
  #parameters = 0

  /**
   * @returns the fields, and the types in the form that selectors hash
   * @throws TypeError if something is malformed, or has a size of zero
   */
  fields(parameters: unknown): { fields: AbiField[]; signature: string } {
    if (!Array.isArray(parameters)) throw new TypeError('expected a list of parameters')
    const names: string[] = []
    const fields = parameters.map((parameter: AbiParameter, position) => {
      this.#parameters += 1
      if (this.#parameters > MAX_PARAMETERS) throw new TypeError(`more than ${MAX_PARAMETERS} parameters`)
      const { type, name } = this.#type(parameter)
      names.push(name)
      return { name: shortText(parameter.name ?? '') || `${position}`, type }
    })
    return { fields, signature: `(${names.join(',')})` }
  }

  #type({ type: given, components }: AbiParameter): { type: AbiType; name: string } {
    const text = shortText(given)
    const [, base = '', suffix = ''] = /^([a-z]+\d*)((?:\[\d*\])*)$/.exec(text) ?? []
    let { type, name } = base === 'tuple' ? this.#tuple(components) : elementary(base)
    for (const [, length = ''] of suffix.matchAll(/\[(\d*)\]/g)) {
      // The data chooses a list's length: without element size, it would not bound the work.
      if (length !== '' && Number(length) === 0) throw new TypeError(`${text} has no size`)
      const isDynamic = length === '' || isDynamicType(type)
      type = { kind: 'array', item: type, length: length === '' ? undefined : Number(length), isDynamic }
    }
    name += suffix
    return { type, name }
  }

  #tuple(components: unknown): { type: AbiType; name: string } {
    const { fields, signature } = this.fields(components)
    if (fields.length === 0) throw new TypeError('an empty tuple has no size')
    return {
      type: { kind: 'tuple', fields, isDynamic: fields.some(({ type }) => isDynamicType(type)) },
      name: signature,
    }
  }
}

/** Whether the head holds an offset to it (ABI specification). */
export function isDynamicType(type: AbiType): boolean {
  return 'isDynamic' in type ? type.isDynamic : type.kind !== 'word'
}

/** @throws TypeError */
export function shortText(value: unknown): string {
  if (typeof value !== 'string' || value.length > MAX_CHARACTERS)
    throw new TypeError(`expected at most ${MAX_CHARACTERS} characters`)
  return value
}

function elementary(name: string): { type: AbiType; name: string } {
  if (name === 'bytes' || name === 'string') return { type: { kind: name }, name }
  if (name === 'address') return { type: word((text) => `0x${text.slice(24)}`), name }
  if (name === 'bool') return { type: word(boolean), name }
  if (name === 'function') return { type: fixedBytes(24), name }
  const [, kind, size = ''] = /^(uint|int|bytes)(\d*)$/.exec(name) ?? []
  if (kind === 'bytes' && Number(size) >= 1 && Number(size) <= 32) return { type: fixedBytes(Number(size)), name }
  const bits = Number(size || 256)
  if (kind === undefined || kind === 'bytes' || bits < 8 || bits > 256 || bits % 8 !== 0)
    throw new TypeError('a known ABI type')
  const read = kind === 'uint' ? unsigned : signed
  return { type: word(read), name: `${kind}${bits}` }
}

function word(read: (text: string) => string | boolean): AbiType {
  return { kind: 'word', read }
}

function fixedBytes(length: number): AbiType {
  return word((text) => `0x${text.slice(0, 2 * length)}`)
}

function unsigned(text: string): string {
  return BigInt(`0x${text}`).toString()
}

function signed(text: string): string {
  return BigInt.asIntN(256, BigInt(`0x${text}`)).toString()
}

/** @throws RangeError */
function boolean(text: string): boolean {
  if (!/^0{63}[01]$/.test(text)) throw new RangeError('no boolean')
  return text.endsWith('1')
}
