// The example of an operation as a request with curl, the TypeScript client or the Python client.

import type { Example } from './examples/example.ts'
import { exampleOf } from './examples/examples.ts'
import { componentName } from './openapi-components.ts'
import type { Operation } from './operation.ts'
import { type DescribedOperationId, operationOf, pathNames } from './operations.ts'
import { methodOf } from './python-source.ts'
import { PythonTypes } from './python-types.ts'

const LINE_LENGTH_MAX = 90

/** `publicUrl` is the base URL of every path. */
export function curlSample(id: DescribedOperationId, publicUrl: string): string {
  const operation = operationOf(id)
  const { method, success } = operation
  const example = exampleOf(id)
  const { headers = {}, body, file } = example
  const isEndless = 'mediaType' in success && success.isEndless
  const verb = method === 'GET' ? '' : `-X ${method} `
  return [
    `curl ${isEndless ? '-N ' : verb}${shellWord(`${publicUrl}${addressOf(operation, example)}`)}`,
    ...credentialWords(operation, example),
    ...Object.entries(headers).map(([name, value]) => `-H ${shellWord(`${name}: ${value}`)}`),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${shellWord(jsonOf(body))}`]),
    ...(file ? [`-H 'Content-Type: ${file.mediaType}'`, `--data-binary @${file.name}`] : []),
    ...(isFile(operation) ? ['-OJ'] : []),
  ].join(' \\\n  ')
}

/** Whether curl should write the response to a file with the name that the service gives it. */
function isFile({ success }: Operation): boolean {
  return 'mediaType' in success && (success.isRanged || success.mediaType === 'image/*')
}

function addressOf({ path }: Operation, { path: names = {}, query = {} }: Example): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(names[name] ?? ''))
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value))
  return parameters.size === 0 ? filled : `${filled}?${parameters}`
}

function credentialWords(operation: Operation, example: Example): string[] {
  const { auth, method, setsCookie } = operation
  const variable = tokenOf(operation, example)
  return [
    ...(variable === null ? [] : [`-H "Authorization: Bearer $${variable}"`]),
    ...(auth === 'session' ? ['-b cookies.txt'] : []),
    ...(auth === 'session' && method !== 'GET' ? ['-H "X-CSRF-Token: $CSRF_TOKEN"'] : []),
    ...(setsCookie ? ['-c cookies.txt'] : []),
  ]
}

/** The environment variable with the token of the caller; null if the operation takes none. */
function tokenOf({ auth }: Operation, { as }: Example): string | null {
  if (auth === 'none' || auth === 'signature' || auth === 'session') return null
  if (auth === 'operator') return 'MAILROOM_ADMIN_TOKEN'
  return auth === 'approver' || as === 'approver' ? 'MAILROOM_APPROVER_TOKEN' : 'MAILROOM_API_KEY'
}

function jsonOf(value: unknown): string {
  const line = JSON.stringify(value)
  return line.length <= LINE_LENGTH_MAX ? line : JSON.stringify(value, null, 2)
}

/** In double quotes only if the shell is to insert a variable. */
function shellWord(text: string): string {
  if (/"\$[A-Z_]+"/.test(text)) return `"${text.replaceAll('"', '\\"')}"`
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** `client` is a client with an API key. */
export function typeScriptSample(id: DescribedOperationId, publicUrl: string): string {
  const operation = operationOf(id)
  const example = exampleOf(id)
  const token = tokenOf(operation, example)
  const client = clientNames[token ?? ''] ?? 'client'
  const made = `const ${client} = new Mailroom({\n  baseUrl: '${publicUrl}',\n  apiKey: process.env.${token},\n})\n`
  const call =
    id === 'events.stream'
      ? 'client.events.follow()'
      : callOf(`${client}.${id}`, typeScriptArguments(id, example), '  ')
  const statement = statementOf(id, {
    forEach: (name) => `for await (const ${name} of ${call}) console.log(${name})`,
    assign: (name) => `const ${name} = await ${call}`,
    call: `await ${call}`,
  })
  return client === 'client' ? statement : `${made}${statement}`
}

const clientNames: Readonly<Record<string, string>> = {
  MAILROOM_APPROVER_TOKEN: 'approver',
  MAILROOM_ADMIN_TOKEN: 'operator',
}

function typeScriptArguments(id: DescribedOperationId, example: Example): string[] {
  const { path = {}, query, headers = {}, body, file } = example
  const given = Object.entries(headers).map(([name, value]) => [optionNames[name] ?? name, value])
  // The options of `imports.create` call the media type `type`.
  const typeName = id === 'uploads.create' ? 'contentType' : 'type'
  const fileOptions = file && { [typeName]: file.mediaType }
  const options = { ...query, ...fileOptions, ...Object.fromEntries(given) }
  // The client has a parameter for the messages of a batch.
  const content = id === 'inboxes.sendBatch' ? (body as { items: unknown }).items : body
  return [
    ...pathNames(operationOf(id).path).map((name) => literal(path[name], typeScript)),
    ...(file ? [`await openAsBlob('${file.name}')`] : []),
    ...(content === undefined ? [] : [literal(content, typeScript)]),
    ...(Object.keys(options).length === 0 ? [] : [literal(options, typeScript)]),
  ]
}

const optionNames: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotencyKey',
  'If-Match': 'ifMatch',
  'Lease-Token': 'leaseToken',
}

/** `client` is a client with an API key. */
export function pythonSample(id: DescribedOperationId, publicUrl: string): string {
  const operation = operationOf(id)
  const example = exampleOf(id)
  const { name } = methodOf(id, new PythonTypes())
  const token = tokenOf(operation, example)
  const client = clientNames[token ?? ''] ?? 'client'
  const made = `${client} = Mailroom("${publicUrl}", os.environ["${token}"])\n`
  const lease = example.headers?.['Lease-Token']
  const leased = lease === undefined ? client : `${client}.with_lease(${JSON.stringify(lease)})`
  const space = id.split('.').slice(0, -1).map(snakeOf).join('.')
  const call =
    id === 'events.stream'
      ? 'client.events.follow()'
      : callOf(`${leased}.${space}.${name}`, pythonArguments(id, example), '    ')
  const statement = statementOf(id, {
    forEach: (item) => `for ${snakeOf(item)} in ${call}:\n    print(${snakeOf(item)})`,
    assign: (result) => `${snakeOf(result)} = ${call}`,
    call,
  })
  return client === 'client' ? statement : `${made}${statement}`
}

function callOf(name: string, args: readonly string[], indent: string): string {
  const line = `${name}(${args.join(', ')})`
  if (line.length <= LINE_LENGTH_MAX && !line.includes('\n')) return line
  const lines = args.map((arg) => `${indent}${arg.replaceAll('\n', `\n${indent}`)},\n`)
  return `${name}(\n${lines.join('')})`
}

function pythonArguments(id: DescribedOperationId, example: Example): string[] {
  const { path = {}, query = {}, headers = {}, body = {}, file } = example
  const small = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const parts: Readonly<Record<string, unknown>> = {
    path,
    query,
    body,
    headers: { ...Object.fromEntries(small), ...(file && { 'content-type': file.mediaType }) },
  }
  return methodOf(id, new PythonTypes()).arguments.flatMap(({ name, part, key }) => {
    if (part === 'file') return [`Path("${file?.name}")`]
    const value: unknown = Reflect.get(Object(parts[part]), key)
    if (value === undefined) return []
    const text = literal(value, python)
    return [part === 'path' ? text : `${name}=${text}`]
  })
}

type Statements = {
  forEach(name: string): string
  assign(name: string): string
  readonly call: string
}

function statementOf(id: DescribedOperationId, statements: Statements): string {
  switch (methodOf(id, new PythonTypes()).kind) {
    case 'list':
    case 'events':
    case 'stream':
      return statements.forEach(resultName(id))
    case 'nothing':
      return statements.call
    default:
      return statements.assign(resultName(id))
  }
}

/** A noun for the result, or for an entry of the list. */
function resultName(id: DescribedOperationId): string {
  const { success } = operationOf(id)
  if ('mediaType' in success) {
    if (success.isEndless) return 'event'
    return /^text\/|json$/.test(success.mediaType) ? 'text' : 'file'
  }
  if (!('schema' in success)) return 'result'
  const { properties } = success.schema as { properties?: { data?: { items?: unknown } } }
  const name = componentName(properties?.data?.items) ?? componentName(success.schema) ?? 'result'
  return shortNames[name] ?? name.charAt(0).toLowerCase() + name.slice(1)
}

const shortNames: Readonly<Record<string, string>> = {
  ChangedInbox: 'inbox',
  SentMessage: 'sent',
  // The names of these components are keywords.
  Export: 'transfer',
  Import: 'transfer',
}

function snakeOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

type Language = {
  readonly words: Readonly<Record<string, string>>
  text(value: string): string
  key(name: string): string
  variable(name: string): string
}

const typeScript: Language = {
  words: {},
  text: (value) =>
    `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`,
  key: (name) => (/^\w+$/.test(name) ? name : `'${name}'`),
  variable: (name) => `process.env.${name} ?? ''`,
}

const python: Language = {
  words: { true: 'True', false: 'False', null: 'None' },
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  variable: (name) => `os.environ["${name}"]`,
}

/** On one line if it is short. */
function literal(value: unknown, language: Language): string {
  if (typeof value === 'string') {
    return /^\$[A-Z_]+$/.test(value) ? language.variable(value.slice(1)) : language.text(value)
  }
  if (typeof value !== 'object' || value === null) {
    return language.words[String(value)] ?? String(value)
  }
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([name, part]) =>
    isList ? literal(part, language) : `${language.key(name)}: ${literal(part, language)}`,
  )
  const line = parts.join(', ')
  const [open, close] = isList ? '[]' : '{}'
  if (line.length <= LINE_LENGTH_MAX && !line.includes('\n')) {
    return isList || language === python ? `${open}${line}${close}` : `{ ${line} }`
  }
  const lines = parts.map((part) => `  ${part.replaceAll('\n', '\n  ')},\n`)
  return `${open}\n${lines.join('')}${close}`
}
