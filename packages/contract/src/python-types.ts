// Generates a Python TypedDict for each schema, with the field names of the API.

import { componentName } from './openapi-components.ts'
import { baseOf } from './schema.ts'
import { eventKinds, messageCategories, messageDirections } from './vocabulary.ts'

export type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  additionalProperties?: boolean | Schema
  discriminator?: { propertyName: string }
  description?: string
  contentEncoding?: string
}

/** Python code reads responses and writes requests, which accept wider types. */
export type Direction = 'answer' | 'request'

/** Names of the enumerations that callers use. */
export const ALIASES: Readonly<Record<string, readonly string[]>> = {
  Direction: messageDirections,
  EventType: eventKinds,
  MessageCategory: messageCategories,
}

/** The types that expressions refer to, in order of first reference. */
export class PythonTypes {
  readonly #sources = new Map<string, string>()
  readonly #parents = new Map<string, string>()

  /** A type expression. `hint` names an object without a name. */
  expressionOf(schema: Schema, hint: string, direction: Direction): string {
    if (schema.const !== undefined) return literalOf([schema.const])
    if (schema.enum !== undefined) return enumOf(schema.enum)
    if (schema.discriminator !== undefined) return this.#alias(schema, hint, direction)
    if (schema.anyOf !== undefined) {
      return unionOf(schema.anyOf.map((one) => this.expressionOf(one, hint, direction)))
    }
    return unionOf(
      [schema.type ?? 'unknown'].flat().map((type) => this.#plain(type, schema, hint, direction)),
    )
  }

  get names(): string[] {
    return [...this.#sources.keys()].sort()
  }

  /** Sorted by name, but a class follows the one that it extends. */
  get sources(): string[] {
    const sorted = new Set<string>()
    const add = (name: string): void => {
      const parent = this.#parents.get(name)
      if (parent !== undefined) add(parent)
      sorted.add(name)
    }
    this.names.forEach(add)
    return [...sorted].map((name) => this.#sources.get(name) ?? '')
  }

  #plain(type: string, schema: Schema, hint: string, direction: Direction): string {
    switch (type) {
      case 'string':
        return schema.contentEncoding === 'base64' && direction === 'request'
          ? 'bytes | str'
          : 'str'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'boolean':
        return 'bool'
      case 'null':
        return 'None'
      case 'array': {
        const items = this.expressionOf(schema.items ?? {}, hint, direction)
        return direction === 'answer' ? `List[${items}]` : `Sequence[${items}]`
      }
      case 'object':
        return this.#object(schema, hint, direction)
      default:
        return 'Any'
    }
  }

  #object(schema: Schema, hint: string, direction: Direction): string {
    const { properties = {}, additionalProperties } = schema
    if (Object.keys(properties).length > 0) return this.#declare(schema, hint, direction)
    const values =
      typeof additionalProperties === 'object'
        ? this.expressionOf(additionalProperties, `${hint}Value`, direction)
        : 'Any'
    return direction === 'answer' ? `Dict[str, ${values}]` : `Mapping[str, ${values}]`
  }

  /** A union with a name, whose members may be declared after it. */
  #alias(schema: Schema, hint: string, direction: Direction): string {
    const { anyOf = [], description = '' } = schema
    const name = componentName(schema) ?? hint
    if (this.#sources.has(name)) return name
    this.#sources.set(name, '')
    const members = anyOf.map((one) => this.expressionOf(one, name, direction))
    const lines = members.map((member) => `    "${member}",`)
    const source = [`${name} = Union[`, ...lines, ']', ...docstringOf(description, 0)].join('\n')
    this.#sources.set(name, source)
    return name
  }

  #declare(schema: Schema, hint: string, direction: Direction): string {
    const name = componentName(schema) ?? hint
    if (this.#sources.has(name)) return name
    this.#sources.set(name, '')
    const { properties = {}, required = [] } = schema
    const base = extensibleBaseOf(schema)
    const parent = base === undefined ? undefined : this.#declare(base, '', direction)
    const own = Object.entries(properties).filter(([key]) => base?.properties?.[key] === undefined)
    const fields = own.map(([key, property]) => ({
      key,
      type: this.expressionOf(property, `${name}${pascalOf(key)}`, direction),
      description: property.description,
      // The client generates the keys of batch items that have none.
      isRequired: required.includes(key) && key !== 'idempotencyKey',
    }))
    if (parent !== undefined) this.#parents.set(name, parent)
    this.#sources.set(name, classOf({ name, parent, description: schema.description, fields }))
    return name
  }
}

type Field = { key: string; type: string; description: string | undefined; isRequired: boolean }

/** The object that this one extends. A TypedDict may not change the type of an inherited key. */
function extensibleBaseOf(schema: Schema): Schema | undefined {
  const base = baseOf(schema) as Schema | undefined
  const inherited = Object.entries(base?.properties ?? {})
  return inherited.every(([key, one]) => schema.properties?.[key] === one) ? base : undefined
}

type Declared = {
  name: string
  parent: string | undefined
  description: string | undefined
  fields: Field[]
}

/** At most three classes: keys that are Python keywords, required keys, and the rest. */
function classOf({ name, parent, description, fields }: Declared): string {
  const bases: string[] = parent === undefined ? [] : [parent]
  const parts: string[] = []
  for (const isRequired of [true, false]) {
    const words = fields.filter((one) => isKeyword(one.key) && one.isRequired === isRequired)
    if (words.length === 0) continue
    const base = `_${name}Words${isRequired ? '' : 'Optional'}`
    // A quoted name may precede its class.
    const entries = words.map(
      ({ key, type }) => `"${key}": ${type.includes('"') ? type : JSON.stringify(type)}`,
    )
    const total = isRequired ? '' : ', total=False'
    parts.push(wrap(`${base} = TypedDict("${base}", {${entries.join(', ')}}${total})`).join('\n'))
    bases.push(base)
  }
  const required = fields.filter((one) => one.isRequired && !isKeyword(one.key))
  const optional = fields.filter((one) => !one.isRequired && !isKeyword(one.key))
  if (required.length > 0 && optional.length > 0) {
    const base = `_${name}Required`
    parts.push(bodyOf(`class ${base}(${bases.join(', ') || 'TypedDict'}):`, undefined, required))
    bases.splice(0, bases.length, base)
  }
  const total = optional.length > 0 ? ', total=False' : ''
  const own = optional.length > 0 ? optional : required
  const head = `class ${name}(${bases.join(', ') || 'TypedDict'}${total}):`
  return [...parts, bodyOf(head, description, own)].join('\n\n\n')
}

function bodyOf(head: string, description: string | undefined, fields: Field[]): string {
  const lines = fields.flatMap((field) => [
    ...wrap(`    ${field.key}: ${field.type}`),
    ...(field.description === undefined ? [] : docstringOf(field.description, 4)),
  ])
  const doc = description === undefined ? [] : [...docstringOf(description, 4), '']
  return [head, ...doc, ...lines].join('\n')
}

const KEYWORDS = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)

export function isKeyword(word: string): boolean {
  return KEYWORDS.has(word)
}

function enumOf(values: readonly unknown[]): string {
  const words = values.filter((value) => value !== null)
  const known = Object.entries(ALIASES).find(
    ([, all]) => all.length === words.length && all.every((word) => words.includes(word)),
  )
  if (known === undefined) return literalOf(values)
  return words.length === values.length ? known[0] : `${known[0]} | None`
}

export function literalOf(values: readonly unknown[]): string {
  return `Literal[${values.map((value) => JSON.stringify(value)).join(', ')}]`
    .replaceAll(/\btrue\b/g, 'True')
    .replaceAll(/\bfalse\b/g, 'False')
    .replaceAll(/\bnull\b/g, 'None')
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

export function pascalOf(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z0-9]+)([a-z0-9])/gi, (_, letter: string) =>
    letter.toUpperCase(),
  )
}

const LINE_LENGTH_MAX = 100

/** Breaks a long line after commas within brackets. */
export function wrap(line: string): string[] {
  const indent = `${/^ */.exec(line)?.[0]}    `
  const lines: string[] = []
  let rest = line
  while (rest.length > LINE_LENGTH_MAX) {
    const at = rest.lastIndexOf(', ', LINE_LENGTH_MAX - 1)
    if (at <= indent.length) break
    lines.push(rest.slice(0, at + 1))
    rest = indent + rest.slice(at + 2)
  }
  return [...lines, rest]
}

/** The lines of a docstring with the given indentation. */
export function docstringOf(text: string, indentation: number): string[] {
  const indent = ' '.repeat(indentation)
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('"""', '\\"\\"\\"')
  const safe = escaped.endsWith('"') ? `${escaped} ` : escaped
  const single = `${indent}"""${safe}"""`
  if (single.length <= LINE_LENGTH_MAX && !safe.includes('\n')) return [single]
  const paragraphs = safe.split('\n').map((paragraph) => fill(paragraph, indent))
  const [first = '', ...others] = paragraphs.flat()
  return [`${indent}"""${first.trimStart()}`, ...others, `${indent}"""`]
}

function fill(text: string, indent: string): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    // The first line needs room for the opening quotes.
    if (line !== '' && indent.length + line.length + word.length + 4 > LINE_LENGTH_MAX) {
      lines.push(indent + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line === '' ? '' : indent + line]
}
