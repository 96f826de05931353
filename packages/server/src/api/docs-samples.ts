// A request of each operation as curl and as a call of the TypeScript client.

import type { Operation } from '@mailroom/contract/operations/operation.ts'
import { type OperationId, pathNames } from '@mailroom/contract/operations.ts'

export function curlSample(operation: Operation, publicUrl: string): string {
  const { method, path, auth, body } = operation
  const query = new URLSearchParams(Object.entries(requiredQuery(operation))).toString()
  const url = `${publicUrl}${path}${query === '' ? '' : `?${query}`}`
  const words = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`]
  if (auth === 'operator') words.push(`-H "Authorization: Bearer $MAILROOM_ADMIN_TOKEN"`)
  else if (auth !== 'none') words.push(`-H "Authorization: Bearer $MAILROOM_API_KEY"`)
  if (operation.needsIdempotencyKey) words.push(`-H "Idempotency-Key: $(uuidgen)"`)
  if (body) {
    words.push(`-H 'Content-Type: application/json'`)
    words.push(`-d '${JSON.stringify(bodyExample(body))}'`)
  }
  return words.join(' \\\n  ')
}

export function typeScriptSample(id: OperationId, operation: Operation): string {
  if (id === 'events.stream') {
    return 'for await (const event of client.events.follow()) console.log(event.event)'
  }
  const { body, success } = operation
  const query = requiredQuery(operation)
  const input = body === undefined ? query : bodyExample(body)
  const args = [
    ...sampleNames(operation.path),
    ...(Object.keys(input).length === 0 ? [] : [literal(input)]),
  ]
  const call = `client.${id}(${args.join(', ')})`
  if (isListing(operation)) return `for await (const item of ${call}) console.log(item)`
  return success.status === 204 ? `await ${call}` : `const result = await ${call}`
}

/** Names of the variables that a sample has in the place of path parameters. */
export function sampleNames(path: string): string[] {
  const segments = path.split('/')
  return pathNames(path).map((name) => {
    if (name !== 'id' && name !== 'idOrClientId') return name
    const [collection = ''] = segments.slice(segments.indexOf(`{${name}}`) - 1)
    const words = singular(collection).split('-')
    return `${words.map((word, index) => (index === 0 ? word : capital(word))).join('')}Id`
  })
}

const singular = (word: string) => word.replace(/(?<=x|s)es$|s$/, '')
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** Which the client turns page by page. */
function isListing({ query }: Operation): boolean {
  return (query?.properties as Properties | undefined)?.limit?.default !== undefined
}

function literal(value: unknown): string {
  const json = JSON.stringify(value, null, 2).replaceAll(/^(\s*)"(\w+)":/gm, '$1$2:')
  return json.replaceAll(/"((?:[^"\\']|\\n)*)"/g, "'$1'")
}

type FieldSchema = {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  default?: unknown
}
type Properties = Readonly<Record<string, FieldSchema>>
type ObjectSchema = { properties?: Record<string, unknown>; required?: readonly string[] }

const textExamples: Readonly<Record<string, string>> = {
  name: 'Support',
  clientId: 'tenant-1',
  mailboxName: 'support',
  displayName: 'Support',
  from: 'ann@example.com',
  to: 'bob@example.com',
  address: 'bob@example.com',
  url: 'https://agent.example.com/mail',
  subject: 'Hello',
  body: 'How are you?',
  text: 'How are you?',
  value: 'friend.example',
  apiKey: '$MAILROOM_API_KEY',
  clientName: 'mailroom on laptop',
}

/** Of fields that are left out where they may be. */
const requiredExamples: Readonly<Record<string, string | null>> = {
  domain: 'example.com',
  podId: null,
  q: 'invoice',
  requestId: 'REQUEST_ID',
}

/** Every field that is required, and those others that an example can be given of. */
function bodyExample({ properties = {}, required = [] }: ObjectSchema): Record<string, unknown> {
  const example: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const field = property as FieldSchema
    if (field.default !== undefined) continue
    if (field.type === 'boolean') example[name] = true
    else if (field.enum) example[name] = field.enum[0]
    else if (textExamples[name] !== undefined) example[name] = textExamples[name]
    else if (required.includes(name)) example[name] = requiredExampleOf(name)
  }
  return example
}

function requiredQuery({ query }: Operation): Record<string, string> {
  const { properties = {}, required = [] }: ObjectSchema = query ?? {}
  const names = required.filter((name) => (properties as Properties)[name]?.default === undefined)
  return Object.fromEntries(names.map((name) => [name, String(requiredExampleOf(name))]))
}

function requiredExampleOf(name: string): string | null {
  const example = requiredExamples[name]
  if (example === undefined) throw new Error(`There is no example of the field ${name}.`)
  return example
}
