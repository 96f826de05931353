// Generates the sources of the Python client: types, operation table, methods of both clients, and
// an exception for each error code.

import { errorCodes } from './error-codes.ts'
import type { Operation } from './operation.ts'
import {
  clientOperationIds,
  errorsOf,
  type OperationId,
  operationOf,
  pathNames,
} from './operations.ts'
import {
  ALIASES,
  docstringOf,
  isKeyword,
  literalOf,
  PythonTypes,
  pascalOf,
  type Schema,
  snakeOf,
  wrap,
} from './python-types.ts'

const HEAD = '# Generated from the contract: npm run generate.'

/** File contents by file name in `packages/sdk-python/src/mailroom`. */
export function pythonSources(): Record<string, string> {
  const types = new PythonTypes()
  const methods = clientOperationIds.flatMap((id) => {
    const method = methodOf(id, types)
    return id === 'inboxes.send' ? [method, ...repliesOf(method)] : [method]
  })
  return {
    'types.py': typesSource(types),
    '_operations.py': operationsSource(methods, types),
    'error_codes.py': errorsSource(),
    '_sync_methods.py': methodsSource(methods, types, false),
    '_async_methods.py': methodsSource(methods, types, true),
  }
}

/** POSTs without an Idempotency-Key that are nevertheless idempotent. */
const ONCE: ReadonlySet<OperationId> = new Set([
  'imports.create',
  'inboxes.sendBatch',
  'threads.renewClaim',
])

/** Paginated operations that return all entries at once or have their own totals. */
const NOT_LISTED: ReadonlySet<OperationId> = new Set(['threads.messages', 'usage.get'])

/** Namespaces with additional methods, in `_sync.py` and `_async.py`. */
const MORE: Readonly<Record<string, string>> = {
  erasures: 'MoreOfErasures',
  events: 'MoreOfEvents',
  exports: 'MoreOfExports',
  imports: 'MoreOfImports',
  inboxes: 'MoreOfInboxes',
  sandbox: 'MoreOfSandbox',
}

function typesSource(types: PythonTypes): string {
  return `"""Types of responses, with attributes in snake_case, and of requests, with the field names of the API.

${HEAD.slice(2)}
"""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Sequence, TypedDict, Union

from ._resource import OneOf, Resource

${listOf('__all__', [...Object.keys(ALIASES), ...types.names].sort())}

${Object.entries(ALIASES)
  .flatMap(([name, values]) => wrap(`${name} = ${literalOf(values)}`))
  .join('\n')}


${types.sources.join('\n\n\n')}
`
}

function operationsSource(methods: readonly Method[], types: PythonTypes): string {
  const rows = methods.flatMap(({ id, kind, resource }) => {
    if (kind.startsWith('reply')) return []
    const { method, path, needsIdempotencyKey } = operationOf(id)
    const isOnce = needsIdempotencyKey === true || ONCE.has(id)
    const more = `${resource === null ? '' : `, ${resource}`}${isOnce ? ', is_once=True' : ''}`
    return wrap(`    ${JSON.stringify(id)}: Operation("${method}", "${path}"${more}),`)
  })
  const code = rows.join('\n')
  const used = types.names.filter((name) => hasWord(code, name))
  return `${HEAD}

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from ._resource import Kind, OneOf
from .types import (
${used.map((name) => `    ${name},`).join('\n')}
)


class Operation(NamedTuple):
    method: str
    path: str
    kind: Optional[Kind] = None
    """The class of the response or, of a list, of its entries."""
    is_once: bool = False
    """A POST that takes effect only once, however often it is sent."""


OPERATIONS: Dict[str, Operation] = {
${code}
}
`
}

function errorsSource(): string {
  const codes = Object.entries(errorCodes).map(([code, { status, sentence }]) => ({
    code,
    name: `${pascalOf(code)}${code.endsWith('error') ? '' : 'Error'}`,
    text: `${status} \`${code}\`: ${sentence}`,
  }))
  const classes = codes.map(({ name, text }) =>
    [`class ${name}(MailroomError):`, ...docstringOf(text, 4)].join('\n'),
  )
  return `"""An exception for each error code of the API.

${HEAD.slice(2)}
"""

from __future__ import annotations

from typing import Dict, Type

from .errors import MailroomError

${listOf('__all__', codes.map(({ name }) => name).sort())}


${classes.join('\n\n\n')}


ERRORS: Dict[str, Type[MailroomError]] = {
${codes.map(({ code, name }) => `    "${code}": ${name},`).join('\n')}
}
`
}

function hasWord(code: string, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(code)
}

function listOf(name: string, entries: readonly string[]): string {
  return [`${name} = [`, ...entries.map((entry) => `    "${entry}",`), ']'].join('\n')
}

type Kind =
  | 'json'
  | 'reply'
  | 'reply_in_thread'
  | 'nothing'
  | 'text'
  | 'file'
  | 'view'
  | 'stream'
  | 'list'
  | 'events'

type Argument = { name: string; type: string; isRequired: boolean; part: string; key: string }

type Method = {
  readonly id: OperationId
  readonly space: string
  readonly name: string
  readonly kind: Kind
  readonly answer: string
  /** An expression of the class of the response or, of a list, of its entries. */
  readonly resource: string | null
  readonly arguments: readonly Argument[]
  readonly doc: string
}

export function methodOf(id: OperationId, types: PythonTypes): Method {
  const operation = operationOf(id)
  const answer = answerOf(id, operation, types)
  const all = argumentsOf(id, operation, types)
  const names = all.map(({ name }) => name)
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double !== undefined) throw new Error(`${id} has two arguments ${double}.`)
  const codes = errorsOf(operation).filter((code) => operation.errors.includes(code))
  const errors = codes.length === 0 ? '' : `\n\nSpecific error codes: ${codes.join(', ')}.`
  const notes = operation.notes === undefined ? '' : `\n\n${operation.notes}`
  return {
    id,
    space: id.split('.').slice(0, -1).join('.'),
    name: snakeOf(id.split('.').at(-1) ?? ''),
    ...answer,
    arguments: all,
    doc: `${operation.summary}${notes}${errors}`,
  }
}

/** `inboxes.reply` and `threads.reply`, which by default send to the sender of a message. */
function repliesOf(send: Method): Method[] {
  const message = {
    ...{ name: 'message', key: 'message', part: 'message' },
    ...{ type: 'Mapping[str, Any] | str', isRequired: true },
  }
  const [inbox, ...others] = send.arguments
  if (inbox === undefined) return []
  const kept = others.filter(({ key }) => key !== 'threadId')
  const recipient =
    'The reply goes to the address where the sender wants replies. If the inbox was only copied, it goes to the address that the sender wrote to; for a message of the inbox itself, to its recipient. to and reply_all override this.'
  return [
    {
      ...{ ...send, kind: 'reply', name: 'reply' },
      arguments: [inbox, message, ...kept],
      doc: `Reply to a message of the inbox, given by itself or its id, in its thread: a send.\n\n${recipient}`,
    },
    {
      ...{ ...send, kind: 'reply_in_thread', space: 'threads', name: 'reply' },
      arguments: [{ ...inbox, name: 'thread_id' }, ...kept],
      doc: `Reply to the newest received message of a thread: a send.\n\nIf the thread has no received message, to the newest sent one. ${recipient}`,
    },
  ]
}

function answerOf(
  id: OperationId,
  operation: Operation,
  types: PythonTypes,
): Pick<Method, 'kind' | 'answer' | 'resource'> {
  const { success, otherSuccess, query } = operation
  const hint = id.split('.').map(pascalOf).join('')
  if ('schema' in success) {
    const schemas = [success.schema, ...(otherSuccess ? [otherSuccess.schema] : [])] as Schema[]
    const entry = schemas[0]?.properties?.data?.items ?? {}
    const keys = Object.keys(entry.properties ?? {})
    const isPaged = query?.properties.limit !== undefined && operation.method === 'GET'
    const isListed = !NOT_LISTED.has(id) && (keys.includes('id') || keys.includes('messageId'))
    const isList = id === 'events.list' || (isPaged && isListed)
    const hinted = isList
      ? [[entry, id === 'events.list' ? 'Event' : `${hint}Item`] as const]
      : schemas.map((one, index) => [one, `${hint}Answer${index === 0 ? '' : index + 1}`] as const)
    const all = hinted.map(([schema, name]) => types.expressionOf(schema, name, 'answer'))
    return {
      kind: id === 'events.list' ? 'events' : isList ? 'list' : 'json',
      answer: all.join(' | '),
      resource: types.kindOf(...hinted),
    }
  }
  if (!('mediaType' in success)) return { kind: 'nothing', answer: 'None', resource: null }
  const isText = /^text\/|json$/.test(success.mediaType)
  if (success.isEndless) return { kind: 'stream', answer: 'ByteStream', resource: null }
  if (success.headers?.includes('X-View-Total-Chars')) {
    return { kind: 'view', answer: 'View', resource: null }
  }
  return isText
    ? { kind: 'text', answer: 'str', resource: null }
    : { kind: 'file', answer: 'DownloadedFile', resource: null }
}

function argumentsOf(id: OperationId, operation: Operation, types: PythonTypes): Argument[] {
  const { path, method, upload, needsIdempotencyKey, takesIfMatch } = operation
  const query = operation.query as Schema | undefined
  const body = operation.body as Schema | undefined
  const hint = id.split('.').map(pascalOf).join('')
  const inPath = pathNames(path).map((key) =>
    argument({ key, name: pathName(path, key), type: 'str', isRequired: true, part: 'path' }),
  )
  const file = upload
    ? [argument({ key: 'file', type: 'Content', isRequired: true, part: 'file' })]
    : []
  const fields = Object.entries(body?.properties ?? {}).filter(
    // A field with two spellings is one argument.
    ([key], _, all) => !all.some(([other]) => other !== key && snakeOf(other) === key),
  )
  const inBody = fields.map(([key, schema]) => {
    const isRequired = (body?.required ?? []).includes(key)
    const own = types.expressionOf(schema, `${hint}${pascalOf(key)}`, 'request')
    // An object from a response can be sent in a request.
    const type = types.names.some((name) => hasWord(own.split('[')[0] ?? '', name))
      ? `${own} | Resource`
      : own
    // In a POST null means absent; elsewhere it clears the field.
    const given = isRequired || method === 'POST' ? type : `${type} | NotGiven`
    return argument({ key, type: given, isRequired, part: 'body' })
  })
  const inQuery = Object.entries(query?.properties ?? {})
    // A query parameter that is also a body field applies only to bodies that are not JSON.
    .filter(([key]) => body?.properties?.[key] === undefined)
    .map(([key, schema]) => {
      const type = types.expressionOf(schema, `${hint}${pascalOf(key)}`, 'request')
      const isRequired = (query?.required ?? []).includes(key) && !('default' in schema)
      return argument({ key, type, isRequired, part: 'query' })
    })
  const inHeaders = [
    ...(needsIdempotencyKey ? ['idempotency-key'] : []),
    ...(takesIfMatch ? ['if-match'] : []),
    ...(upload ? ['content-type'] : []),
  ].map((key) => argument({ key, type: 'str', isRequired: false, part: 'headers' }))
  return [...inPath, ...file, ...inBody, ...inQuery, ...inHeaders]
}

function argument(one: Omit<Argument, 'name'> & { name?: string }): Argument {
  const name = one.name ?? snakeOf(one.key)
  return { ...one, name: isKeyword(name) ? `${name}_` : name }
}

/** `{id}` is named after its resource: `inbox_id` in `/v1/inboxes/{id}`. */
function pathName(path: string, key: string): string {
  if (key !== 'id') return snakeOf(key)
  const segments = path.split('/')
  const noun = (segments[segments.indexOf('{id}') - 1] ?? '').replaceAll('-', '_')
  return `${noun.replace(/xes$/, 'x').replace(/s$/, '')}_id`
}

function methodsSource(methods: readonly Method[], types: PythonTypes, isAsync: boolean): string {
  const spaces = [...Map.groupBy(methods, ({ space }) => space)]
  const prefix = isAsync ? 'Async' : ''
  const classes = spaces.map(([space, own]) => spaceSource(space, own, isAsync))
  const nested = (space: string) => space.includes('.')
  const top = [...new Set(spaces.map(([space]) => space.split('.')[0] ?? ''))]
  const admin = spaces
    .filter(([space]) => nested(space))
    .map(([space]) => {
      const [outer = '', inner = ''] = space.split('.')
      return `class ${pascalOf(outer)}Methods:
    def __init__(self, transport: ${prefix}Transport) -> None:
        self.${snakeOf(inner)} = ${pascalOf(space)}Methods(transport)`
    })
  const body = [...classes, ...admin].join('\n\n\n')
  const code = body.replaceAll(/"""[\s\S]*?"""/g, '')
  const used = [...Object.keys(ALIASES), ...types.names]
    .sort()
    .filter((name) => hasWord(code, name))
  const own = ['ByteStream', 'EventListing', 'Listing', 'Transport'].map((name) => prefix + name)
  const imported = [...own, ...Object.values(MORE), 'Namespace'].sort()
  return `${HEAD}

from __future__ import annotations

from typing import Any, Literal, Mapping, Sequence

from ._core import NOT_GIVEN, Content, DownloadedFile, NotGiven, View
from ._resource import Resource
from ._${isAsync ? 'async' : 'sync'} import (
${imported.map((name) => `    ${name},`).join('\n')}
)
from .types import (
${used.map((name) => `    ${name},`).join('\n')}
)


${body}


class Namespaces:
    """A namespace for each resource, a method for each operation."""

    def __init__(self, transport: ${prefix}Transport) -> None:
${top.map((name) => `        self.${snakeOf(name)} = ${pascalOf(name)}Methods(transport)`).join('\n')}
`
}

function spaceSource(space: string, methods: readonly Method[], isAsync: boolean): string {
  const head = `class ${pascalOf(space)}Methods(${MORE[space] ?? 'Namespace'}):`
  return [head, methods.map((method) => methodSource(method, isAsync)).join('\n\n')].join('\n')
}

function methodSource(method: Method, isAsync: boolean): string {
  const { name, kind, answer, doc } = method
  const prefix = isAsync ? 'Async' : ''
  const result = {
    list: `${prefix}Listing[${answer}]`,
    events: `${prefix}EventListing`,
    stream: `${prefix}ByteStream`,
  }[kind as string]
  const isPlain = result === undefined
  const awaits = isAsync && (isPlain || kind === 'stream')
  const call = `self._${kind}(${callOf(method)})`
  return [
    `    ${awaits ? 'async ' : ''}def ${name}(`,
    ...signatureOf(method),
    ...wrap(`    ) -> ${result ?? answer}:`),
    ...docstringOf(doc, 8),
    ...callLines(kind === 'nothing' ? '' : 'return ', `${awaits ? 'await ' : ''}${call}`),
  ].join('\n')
}

const POSITIONAL: ReadonlySet<string> = new Set(['path', 'file', 'message'])

function signatureOf({ arguments: all }: Method): string[] {
  const first = all.filter(({ part }) => POSITIONAL.has(part))
  const rest = all.filter((one) => !first.includes(one))
  const required = rest.filter(({ isRequired }) => isRequired)
  const optional = rest.filter(({ isRequired }) => !isRequired)
  const lines = [
    'self',
    ...first.map(({ name, type }) => `${name}: ${type}`),
    ...(rest.length > 0 ? ['*'] : []),
    ...required.map(({ name, type }) => `${name}: ${type}`),
    ...optional.map(({ name, type }) => {
      if (type.endsWith('NotGiven')) return `${name}: ${type} = NOT_GIVEN`
      return `${name}: ${/\bNone$/.test(type) ? type : `${type} | None`} = None`
    }),
  ]
  return lines.flatMap((line) => wrap(`        ${line},`))
}

/** The arguments of the call, grouped by the part of the request that contains them. */
function callOf({ id, arguments: all }: Method): string {
  const hasBody = operationOf(id).body !== undefined
  const parts = ['path', 'query', 'body', 'headers'].flatMap((part) => {
    const own = all.filter((one) => one.part === part)
    if (own.length === 0 && !(part === 'body' && hasBody)) return []
    const entries = own.map(({ key, name }) => `"${key}": ${name}`)
    return [`${part}={${entries.join(', ')}}`]
  })
  const given = ['message', 'file'].filter((name) => all.some(({ part }) => part === name))
  return [JSON.stringify(id), ...parts, ...given.map((name) => `${name}=${name}`)].join(', ')
}

function callLines(start: string, call: string): string[] {
  return wrap(`        ${start}${call}`)
}
