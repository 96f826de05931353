// Calls any operation of the API by its name. The contract decides whether a name=value belongs to
// the path, the query or the body.

import { randomUUID } from 'node:crypto'
import {
  type ClientOperationId,
  clientOperationIds,
  operationOf,
  pathNames,
} from '@mailroom/contract/operations.ts'
import type { Call } from '@mailroom/sdk/transport.ts'
import { Failure } from '#base/failure.ts'
import { formatTable, type Output, openOutput } from '#base/output.ts'
import { readPathOrInput } from '#base/read-input.ts'
import { openAnySession, openSession, type Session } from '#base/session.ts'
import { type Field, fieldsOf, readValue } from '#commands/fields.ts'
import { type CommonOptions, writeContent } from './run-operation.ts'

export type ApiOptions = CommonOptions & {
  readonly list?: true
  readonly describe?: true
  readonly body?: string
  readonly contentType?: string
  readonly idempotencyKey?: string
}

export async function callApi(
  name: string | undefined,
  values: readonly string[],
  options: ApiOptions,
): Promise<void> {
  const output = openOutput({ isColored: options.color })
  if (options.list) return listOperations(output, options)
  const id = findOperation(name)
  if (options.describe) return describeOperation(output, id)
  const { auth, success } = operationOf(id)
  const needsKey = ['key', 'approver', 'key-or-approver', 'operator'].includes(auth)
  const session = await (needsKey ? openSession(options) : openAnySession(options))
  const call = await makeApiCall(id, values, options, output.note)
  if ('isEndless' in success && success.isEndless) return follow(output, session, call)
  const { headers, bytes } = await session.transport.send(call)
  if (headers.get('idempotency-replayed') === 'true') {
    output.note('A request with this key was already carried out; this is its stored response.')
  }
  if (!(headers.get('content-type') ?? '').startsWith('application/json')) {
    return writeContent(output, bytes)
  }
  output.json(JSON.parse(new TextDecoder().decode(bytes)))
}

function listOperations(output: Output, { json }: ApiOptions): void {
  const rows = clientOperationIds.map((id) => ({ id, ...operationOf(id) }))
  if (json) {
    output.json(rows.map(({ id, method, path, summary }) => ({ id, method, path, summary })))
    return
  }
  const columns = ['OPERATION', 'METHOD', 'PATH', 'SUMMARY'].map((title) => ({
    title,
    isFlexible: title === 'SUMMARY',
  }))
  const cells = rows.map(({ id, method, path, summary }) => [id, method, path, summary])
  output.write(formatTable(columns, cells, output))
}

function describeOperation(output: Output, id: ClientOperationId): void {
  const { method, path, summary, notes = '' } = operationOf(id)
  output.write(`${id}: ${method} ${path}\n${summary}${notes === '' ? '' : ` ${notes}`}\n`)
  const rows = fieldsOf(id).map(({ name, place, isRequired, sentence }) => [
    name,
    place,
    isRequired ? 'required' : 'optional',
    sentence,
  ])
  const columns = ['NAME', 'PLACE', '', 'MEANING'].map((title) => ({
    title,
    isFlexible: title === 'MEANING',
  }))
  if (rows.length > 0) output.write(`\n${formatTable(columns, rows, output)}`)
}

function findOperation(name: string | undefined): ClientOperationId {
  const found = clientOperationIds.find((id) => id === name)
  if (found !== undefined) return found
  const wanted = name?.toLowerCase() ?? ''
  const near = clientOperationIds.filter(
    (id) => wanted !== '' && (id.toLowerCase() === wanted || id.startsWith(`${wanted}.`)),
  )
  const fix =
    near.length > 0
      ? `Did you mean ${near.join(', ')}?`
      : '"mailroom api --list" lists all of them.'
  const what = name === undefined ? 'Name an operation.' : `Unknown operation ${name}.`
  throw new Failure('usage', what, fix)
}

/** Throws for names that the operation does not have, and for missing path parameters. */
export async function makeApiCall(
  id: ClientOperationId,
  values: readonly string[],
  options: Pick<ApiOptions, 'body' | 'contentType' | 'idempotencyKey'>,
  note: (text: string) => void,
): Promise<Call> {
  const { path, body, needsIdempotencyKey } = operationOf(id)
  const places: Record<Field['place'], Record<string, unknown>> = { path: {}, query: {}, body: {} }
  for (const text of values) putValue(id, places, text)
  const missing = pathNames(path).find((name) => places.path[name] === undefined)
  if (missing !== undefined) {
    throw new Failure('usage', `${id} needs ${missing}=…`, describeHint(id))
  }
  const given = options.body === undefined ? null : await readBody(options.body)
  if (given !== null && Object.keys(places.body).length > 0) {
    throw new Failure('usage', 'The body is given twice.', 'Give --body, or its fields separately.')
  }
  const key = options.idempotencyKey ?? randomUUID()
  if (needsIdempotencyKey && options.idempotencyKey === undefined) note(`Idempotency-Key: ${key}`)
  return {
    id,
    path: places.path as Record<string, string>,
    query: places.query,
    ...(needsIdempotencyKey && { headers: { 'idempotency-key': key }, isOnce: true }),
    ...contentOf(given, options.contentType),
    ...(given === null && body !== undefined && { body: places.body }),
  }
}

function contentOf(data: Buffer<ArrayBuffer> | null, type = 'application/json'): Partial<Call> {
  return data === null ? {} : { content: { type, data } }
}

function putValue(
  id: ClientOperationId,
  places: Record<Field['place'], Record<string, unknown>>,
  text: string,
): void {
  const match = /^([A-Za-z_]+)(:?=)([\s\S]*)$/.exec(text)
  const [, name = '', sign, value = ''] = match ?? []
  const fields = fieldsOf(id).filter((field) => field.name === name)
  const field = fields.find(({ place }) => places[place][name] === undefined) ?? fields[0]
  if (field === undefined) {
    const names = fieldsOf(id).map((one) => one.name)
    const known = names.length > 0 ? `It accepts ${names.join(', ')}.` : 'It accepts no values.'
    throw new Failure('usage', `${id} does not accept ${JSON.stringify(text)}.`, known)
  }
  const read =
    sign === ':='
      ? readValue({ ...field, form: 'json', isNullable: false }, value)
      : readValue(field, value)
  const before = places[field.place][name]
  if (!field.isList || sign === ':=') places[field.place][name] = read
  else places[field.place][name] = [...(Array.isArray(before) ? before : []), read]
}

function describeHint(id: ClientOperationId): string {
  return `"mailroom api ${id} --describe" shows the values that it accepts.`
}

async function readBody(given: string): Promise<Buffer<ArrayBuffer>> {
  if (given === '-') return readPathOrInput('-')
  return given.startsWith('@') ? readPathOrInput(given.slice(1)) : Buffer.from(given)
}

async function follow(output: Output, { transport }: Session, call: Call): Promise<void> {
  const decoder = new TextDecoder()
  for await (const bytes of await transport.stream(call)) {
    if (output.isTerminal)
      writeContent(output, Buffer.from(decoder.decode(bytes, { stream: true })))
    else output.write(bytes)
  }
}
