// Generates Python types from schemas. Responses become dicts whose fields are attributes too, and
// requests become TypedDicts with the field names of the API.

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

/** The types that expressions refer to. A class comes after the classes of its fields. */
export class PythonTypes {
  readonly #sources = new Map<string, { direction: Direction; source: string }>()

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

  /** An expression of the class that holds the objects of a response; null if there are none. */
  kindOf(...hinted: readonly (readonly [Schema, string])[]): string | null {
    const found = hinted.flatMap(([schema, hint]) =>
      objectsOf(schema).map((one) => ({ one, name: this.expressionOf(one, hint, 'answer') })),
    )
    if (new Set(found.map(({ name }) => name)).size <= 1) return found[0]?.name ?? null
    const objects = found.map(({ one }) => one)
    const cases = found.map(({ name }, index) => `(${caseOf(objects, index)}, ${name})`)
    return `OneOf(${cases.join(', ')})`
  }

  get names(): string[] {
    return [...this.#sources.keys()].sort()
  }

  get sources(): string[] {
    return [...this.#sources.values()].map(({ source }) => source)
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

  /** A union with a name. Each member declares the parts of the others as absent. */
  #alias(schema: Schema, hint: string, direction: Direction): string {
    const { anyOf = [], description = '' } = schema
    const name = componentName(schema) ?? hint
    if (this.#sources.has(name)) return name
    const parts = new Set(anyOf.flatMap(({ properties = {} }) => Object.keys(properties)))
    const members = anyOf.map((one) => this.#declare(one, name, direction, parts))
    const lines = members.map((member) => `    ${member},`)
    const source = [`${name} = Union[`, ...lines, ']', ...docstringOf(description, 0)].join('\n')
    this.#sources.set(name, { direction, source })
    return name
  }

  #declare(
    schema: Schema,
    hint: string,
    direction: Direction,
    parts: ReadonlySet<string> = new Set(),
  ): string {
    // A schema that is in requests and responses needs two types: the second is named by `hint`.
    const name = [componentName(schema) ?? hint, hint].find(
      (one) => (this.#sources.get(one)?.direction ?? direction) === direction,
    )
    if (name === undefined) throw new Error(`${hint} is both in a response and in a request.`)
    if (this.#sources.has(name)) return name
    const { properties = {}, required = [], description } = schema
    const base = extensibleBaseOf(schema)
    const parent = base === undefined ? undefined : this.#declare(base, '', direction)
    const fields = Object.entries(properties).map(([key, property]) => ({
      key,
      type: this.expressionOf(property, `${name}${pascalOf(key)}`, direction),
      kind: direction === 'answer' ? this.kindOf([property, `${name}${pascalOf(key)}`]) : null,
      description: property.description,
      // The client generates the keys of batch items that have none.
      isRequired: required.includes(key) && key !== 'idempotencyKey',
      isInherited: base?.properties?.[key] !== undefined,
    }))
    const absent = [...parts].filter((key) => properties[key] === undefined)
    const classOf = direction === 'answer' ? resourceOf : typedDictOf
    const source = classOf({ name, parent, description, fields, absent })
    this.#sources.set(name, { direction, source })
    return name
  }
}

/** The objects with declared fields in a schema: itself, its items, its alternatives. */
function objectsOf(schema: Schema): Schema[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(objectsOf)
  if (schema.items !== undefined) return objectsOf(schema.items)
  return Object.keys(schema.properties ?? {}).length > 0 ? [schema] : []
}

/** A key that only this alternative has, or a key and the value that only this one has. */
function caseOf(objects: readonly Schema[], index: number): string {
  const { properties = {}, required = [] } = objects[index] ?? {}
  const others = objects.filter((_, other) => other !== index)
  for (const [key, { const: value, enum: values = [value] }] of Object.entries(properties)) {
    const isTag = typeof values[0] === 'string' && values.length === 1
    if (isTag && others.every(({ properties: own }) => own?.[key] !== undefined)) {
      return `"${key}", "${values[0]}"`
    }
  }
  const own = required.find((key) => others.every((other) => !other.properties?.[key]))
  if (own === undefined) throw new Error('The alternatives of a response cannot be distinguished.')
  return `"${own}", None`
}

type Field = {
  key: string
  type: string
  kind: string | null
  description: string | undefined
  isRequired: boolean
  isInherited: boolean
}

type Declared = {
  name: string
  /** The class that this one extends. */
  parent: string | undefined
  description: string | undefined
  fields: Field[]
  /** Keys that an object of this class never has. */
  absent: readonly string[]
}

/** Properties that are not fields of the API. */
const PROPERTIES: Readonly<Record<string, string>> = {
  SentMessage: `    @property
    def is_held(self) -> bool:
        """Whether the message waits for the decision of an approver."""
        return self.hold is not None`,
}

/** A dict whose fields are attributes too. */
function resourceOf({ name, parent = 'Resource', description, fields, absent }: Declared): string {
  const own = fields
    .filter(({ isInherited }) => !isInherited)
    .map(({ key, type, description: text, isRequired }) => ({
      key: attributeOf(key),
      type: isRequired || /\bNone$/.test(type) ? type : `${type} | None`,
      description: text,
    }))
  const missing = absent.map((key) => `    ${attributeOf(key)}: None`)
  const nested = fields.flatMap(({ key, kind }) => (kind === null ? [] : [`"${key}": ${kind}`]))
  return [
    bodyOf(`class ${name}(${parent}):`, description, own),
    ...missing,
    ...(nested.length === 0 ? [] : ['', ...wrap(`    _nested = {${nested.join(', ')}}`)]),
    ...(PROPERTIES[name] === undefined ? [] : ['', PROPERTIES[name]]),
  ].join('\n')
}

const METHODS_OF_DICT = new Set(
  'clear copy fromkeys get items keys pop popitem setdefault update values'.split(' '),
)

function attributeOf(key: string): string {
  const name = snakeOf(key)
  return isKeyword(name) || METHODS_OF_DICT.has(name) ? `${name}_` : name
}

/** The object that this one extends. A class may not change the type of an inherited key. */
function extensibleBaseOf(schema: Schema): Schema | undefined {
  const base = baseOf(schema) as Schema | undefined
  const inherited = Object.entries(base?.properties ?? {})
  return inherited.every(([key, one]) => schema.properties?.[key] === one) ? base : undefined
}

/** At most three classes: keys that are Python keywords, required keys, and the rest. */
function typedDictOf({ name, parent, description, fields: all }: Declared): string {
  const fields = all.filter(({ isInherited }) => !isInherited)
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

function bodyOf(
  head: string,
  description: string | undefined,
  fields: readonly Pick<Field, 'key' | 'type' | 'description'>[],
): string {
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

export function snakeOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
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
