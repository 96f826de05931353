// Defines tools (name, description, argument schema and code) and the arguments that they share.

import { z } from 'zod'
import type { Access } from '#access.ts'
import { ToolProblem } from '#problem.ts'
import type { Scope } from '#restriction.ts'

export type Call = {
  readonly access: Access
  /** Whether the connection has the tool, so that an answer can recommend it. */
  has(tool: string): boolean
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal
  /** Reports progress in seconds, if the client asked for it. */
  progress(done: number, total: number, message: string): Promise<void>
}

/** Content in the form of the Model Context Protocol; `data` is base64. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }

/**
 * Text; content parts that may be pictures; or text with values for programs. Only the service makes
 * values: what strangers wrote is in the text, within its fence.
 */
export type Answer = string | readonly Part[] | { readonly text: string; readonly values: Values }
export type Values = Readonly<Record<string, string>>

type Annotations = {
  /** Whether the tool changes nothing. */
  readonly isReading: boolean
  /** Whether the tool may overwrite or remove something, so that it is not merely additive. */
  readonly isDestructive: boolean
  /** Whether calling it twice with the same arguments has the same effect as once. */
  readonly isIdempotent: boolean
  /** Whether the tool reaches people or machines beyond the service. */
  readonly isOpenWorld: boolean
}

export type Tool = Annotations & {
  readonly name: string
  /** The scope that a connection needs. */
  readonly scope: Scope
  /** Any of these scopes suffices instead. */
  readonly otherScopes: readonly Scope[]
  readonly title: string
  readonly description: string
  readonly input: z.ZodType
  /** The arguments as JSON Schema for a model, without limits that are hardly ever reached. */
  readonly inputSchema: JsonSchema
  /** The same without the arguments that few agents need. */
  readonly coreSchema: JsonSchema
  /** Names of the values in every answer that is not an error; empty if there are none. */
  readonly values: readonly string[]
  readonly isOfSandbox: boolean
  /** Not available to a connection that is restricted to some inboxes. */
  readonly isOfAccount: boolean
  run(given: unknown, call: Call): Promise<Answer>
}

export type JsonSchema = Record<string, unknown>

type Definition<Shape extends z.ZodRawShape> = Pick<Annotations, 'isReading' | 'isOpenWorld'> & {
  readonly name: string
  readonly scope: Scope
  readonly otherScopes?: readonly Scope[]
  readonly title: string
  readonly description: string
  readonly input: Shape
  /** Arguments that few agents need. They work, but the tool of the core set does not list them. */
  readonly extras?: readonly (keyof Shape & string)[]
  readonly values?: readonly string[]
  readonly isDestructive?: boolean
  readonly isIdempotent?: boolean
  readonly isOfSandbox?: boolean
  readonly isOfAccount?: boolean
  run(given: z.output<z.ZodObject<Shape>>, call: Call): Promise<Answer>
}

/** The tool gets arguments that match `input`; unknown names are refused. */
export function defineTool<Shape extends z.ZodRawShape>(definition: Definition<Shape>): Tool {
  const {
    extras = [],
    values = [],
    otherScopes = [],
    isDestructive = false,
    isIdempotent = definition.isReading,
    isOfSandbox = false,
    isOfAccount = false,
  } = definition
  const input = z.strictObject(definition.input)
  const needed = Object.entries(definition.input).filter(([name]) => !extras.includes(name))
  return {
    ...definition,
    values,
    otherScopes,
    isDestructive,
    isIdempotent,
    isOfSandbox,
    isOfAccount,
    input,
    inputSchema: schemaForModel(input),
    coreSchema: schemaForModel(z.strictObject(Object.fromEntries(needed))),
    run: async (given, call) => definition.run(await input.parseAsync(given), call),
  }
}

/** Every request to a model contains the schemas of its tools, so they must be short. */
function schemaForModel(input: z.ZodType): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      const { listedAs, description } = jsonSchema
      if (listedAs !== undefined) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
        Object.assign(jsonSchema, listedAs, description === undefined ? {} : { description })
      }
      for (const key of LIMITS) delete jsonSchema[key]
      if (Number(jsonSchema.minimum) <= 1) delete jsonSchema.minimum
      if (Number(jsonSchema.maximum) >= OFFSET_MAX) delete jsonSchema.maximum
    },
  })
  return schema
}

const LIMITS = ['pattern', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const

/** The type is shown to a model in this form instead of its own. */
export function listedAs<Type extends z.ZodType>(schema: Type, form: JsonSchema): Type {
  return schema.meta({ listedAs: form })
}

const ID = /^[A-Za-z]+_[A-Za-z0-9]+$/
const ID_LENGTH_MAX = 100
const NAME_LENGTH_MAX = 320
/** Larger than any list. Without a maximum, schemas would contain the largest safe integer. */
const OFFSET_MAX = 1_000_000_000
const CHARS_MIN = 500
const CHARS_DEFAULT = 8_000
const CHARS_MAX = 100_000

export function id(sentence: string) {
  return z
    .string()
    .max(ID_LENGTH_MAX)
    .regex(ID, 'must be an id as shown by the tools')
    .describe(sentence)
}

export const inbox = z
  .string()
  .min(1)
  .max(NAME_LENGTH_MAX)
  .optional()
  .describe('Id or address; needed only if there are several.')

const LEASE_TOKEN_LENGTH_MAX = 100

export const leaseToken = z
  .string()
  .min(1)
  .max(LEASE_TOKEN_LENGTH_MAX)
  .describe('From claim_thread, if you claimed the thread.')

export const maxChars = z
  .int()
  .min(CHARS_MIN)
  .max(CHARS_MAX)
  .default(CHARS_DEFAULT)
  .describe('Maximum characters to show.')

export const charOffset = z.int().min(0).max(OFFSET_MAX).default(0).describe('Characters to skip.')

const LIST_MAX = 50
const LIST_DEFAULT = 20

export function pageLimit(most = LIST_MAX, usual = LIST_DEFAULT) {
  return z.int().min(1).max(most).default(usual).describe('Maximum entries.')
}

export const pageOffset = z.int().min(0).max(OFFSET_MAX).default(0).describe('Entries to skip.')

/** Explains how to get the rest of a list; empty at its end. */
export function moreOf(shown: number, offset: number, total: number): string {
  const next = offset + shown
  return shown > 0 && next < total ? `For more, call again with offset ${next}.` : ''
}

/** The largest page of the service, and so the last entry of merged lists. */
const MERGED_MAX = 100
/** The most lists to merge, because each takes a request. */
export const LISTS_MAX = 20

export type Range = { readonly limit: number; readonly offset: number }
type Page<Row> = { readonly data: readonly Row[]; readonly total: number }

/**
 * A page of one list, or of several lists merged in the order of `compare`.
 */
export async function mergedPage<Row>(
  lists: readonly ((range: Range) => Promise<Page<Row>>)[],
  { limit, offset }: Range,
  compare: (a: Row, b: Row) => number,
): Promise<Page<Row>> {
  const [only, ...others] = lists
  if (only !== undefined && others.length === 0) return only({ limit, offset })
  if (offset + limit > MERGED_MAX) {
    throw new ToolProblem(
      `Of several inboxes only the first ${MERGED_MAX} entries are listed. Call again with inbox set to one of them (list_inboxes names them).`,
    )
  }
  const pages = await Promise.all(lists.map((read) => read({ limit: offset + limit, offset: 0 })))
  return {
    data: pages
      .flatMap(({ data }) => data)
      .sort(compare)
      .slice(offset, offset + limit),
    total: pages.reduce((sum, { total }) => sum + total, 0),
  }
}

/** `1 match`, `2 matches`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}

/** The non-empty parts, one per line. */
export function lines(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
}
