// Runs a command that is one operation: builds the request from its fields and shows the response.

import { type ClientOperationId, operationOf } from '@mailroom/contract/operations.ts'
import { MailroomConnectionError } from '@mailroom/sdk'
import { withEncodedData } from '@mailroom/sdk/sending.ts'
import type { Answer, Call } from '@mailroom/sdk/transport.ts'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { readFilesToSend } from '#base/read-attachments.ts'
import { readAnswer, readPathOrInput } from '#base/read-input.ts'
import { findId, findInbox, openSession, type Session } from '#base/session.ts'
import { show } from '#base/show.ts'
import {
  arrange,
  attributeOf,
  type Field,
  isSeveral,
  readHeaders,
  readValue,
} from '#commands/fields.ts'
import type { OperationCommand } from '#commands/resources.ts'
import { chooseKey, noteKey } from './idempotency-key.ts'

export type GivenOptions = Readonly<Record<string, unknown>>

export type CommonOptions = {
  readonly profile?: string
  readonly url?: string
  readonly leaseToken?: string
  readonly json?: true
  readonly color: boolean
}

export async function runOperation(
  spec: OperationCommand,
  texts: readonly (string | undefined)[],
  options: GivenOptions,
): Promise<void> {
  const common = commonOf(options)
  if (mustConfirm(spec, options)) await confirmFor(spec.operation, texts.at(-1) ?? '')
  const session = await openSession(common)
  const call = await makeCall(session, spec, texts, options)
  const output = openOutput({ isColored: common.color })
  const key = keyOf(spec, options, output)
  const answer = await session.transport.send(withHeaders(call, options, key)).catch((error) => {
    if (key !== null && error instanceof MailroomConnectionError) noteKey(output, key)
    throw error
  })
  showAnswer(output, spec, answer, { isJson: common.json === true, last: texts.at(-1) ?? '' })
}

function mustConfirm({ needsConfirmation }: OperationCommand, options: GivenOptions): boolean {
  if (needsConfirmation === undefined || options.yes === true) return false
  return needsConfirmation === true || options[needsConfirmation] === true
}

function commonOf(options: GivenOptions): CommonOptions {
  return { color: true, ...options }
}

/** Rejects unless a person confirms at the terminal. */
export async function confirmFor(operation: ClientOperationId, named: string): Promise<void> {
  const what = operationOf(operation).summary.replace(/\.$/, '')
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    const message = 'This cannot be undone, and there is no terminal to ask for confirmation.'
    throw new Failure('usage', message, 'Give --yes to do it anyway.')
  }
  const answer = await readAnswer(`${what}: ${plainLine(named)}\nContinue? (y/N) `)
  if (!/^y(es)?$/i.test(answer)) throw new Failure('failed', 'Nothing was done.')
}

/** Methods whose request without fields would change nothing. */
const CHANGES = new Set(['PATCH', 'PUT'])

async function makeCall(
  session: Session,
  spec: OperationCommand,
  texts: readonly (string | undefined)[],
  options: GivenOptions,
): Promise<Call> {
  const fields = arrange(spec)
  const places: Record<Field['place'], Record<string, unknown>> = { path: {}, query: {}, body: {} }
  const put = async (field: Field, given: unknown) => {
    if (given === undefined) return
    places[field.place][field.name] = await readGiven(session, field, given)
  }
  for (const [at, { field }] of fields.arguments.entries()) await put(field, texts[at])
  for (const field of fields.options) await put(field, options[attributeOf(field.flag)])
  if (fields.ofInbox !== null) {
    const given = typeof options.inbox === 'string' ? options.inbox : undefined
    places.path[fields.ofInbox.name] = await findInbox(session, given)
  }
  if (typeof options.file === 'string') {
    places.body.body = (await readPathOrInput(options.file)).toString('utf8')
  }
  if (spec.operation === 'drafts.create' && places.body.body === undefined) {
    // As in a send, HTML alone is the body, and the service adds a plain text version.
    const { bodyHtml: body, ...rest } = places.body
    places.body = { ...rest, body }
  }
  const operation = operationOf(spec.operation)
  if (CHANGES.has(operation.method) && Object.keys(places.body).length === 0) {
    const names = fields.options.map(({ flag }) => `--${flag}`).join(', ')
    throw new Failure('usage', 'There is nothing to change.', `Give one of ${names}.`)
  }
  return {
    id: spec.operation,
    path: places.path as Record<string, string>,
    query: places.query,
    ...(operation.body === undefined ? {} : { body: places.body }),
  }
}

/** The Idempotency-Key; null if the operation needs none. */
function keyOf({ operation }: OperationCommand, { idempotencyKey }: GivenOptions, output: Output) {
  if (!operationOf(operation).needsIdempotencyKey) return null
  return chooseKey(output, typeof idempotencyKey === 'string' ? idempotencyKey : undefined)
}

function withHeaders(call: Call, { ifMatch }: GivenOptions, key: string | null): Call {
  return {
    ...call,
    headers: {
      ...(typeof ifMatch === 'string' ? { 'if-match': ifMatch } : {}),
      ...(key === null ? {} : { 'idempotency-key': key }),
    },
    // With the same key, a retry never sends twice.
    ...(key === null ? {} : { isOnce: true }),
  }
}

async function readGiven(session: Session, field: Field, given: unknown): Promise<unknown> {
  if (typeof given === 'boolean') return given
  const texts = [given].flat().map(String)
  if (field.form === 'headers') return readHeaders(texts)
  if (field.form === 'files') return readFiles(field, texts)
  const read = async (text: string) => {
    const value = readValue(field, text)
    return field.named !== null && typeof value === 'string'
      ? findId(session, field.named, value)
      : value
  }
  if (!isSeveral(field)) return read(texts[0] ?? '')
  const values: unknown[] = []
  for (const text of texts) values.push(await read(text))
  if (field.form === 'pairs') return values.includes(null) ? null : Object.assign({}, ...values)
  return field.isList ? values : values.join(',')
}

/** Reads files and ids of uploads as attachments; JSON is accepted too, as the former option was. */
async function readFiles(field: Field, texts: readonly string[]): Promise<unknown[]> {
  const isJson = (text: string) => text.startsWith('{')
  const files = await readFilesToSend(texts.filter((text) => !isJson(text)))
  const given = texts.filter(isJson).map((text) => readValue(field, text))
  return [...given, ...files.map(withEncodedData)]
}

type ShowOptions = { isJson: boolean; last: string }

function showAnswer(
  output: Output,
  { operation, shown, done }: OperationCommand,
  { headers, bytes }: Answer,
  { isJson, last }: ShowOptions,
): void {
  const { success } = operationOf(operation)
  if ('mediaType' in success) {
    writeContent(output, bytes)
  } else if ('schema' in success) {
    const body: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (isJson) output.json(body)
    else show(output, shown, body)
  } else if (done !== undefined && !isJson && output.isTerminal) {
    output.note(plainBlock(done.replace('{}', () => last)))
  }
  if (headers.get('idempotency-replayed') === 'true') {
    output.note('A request with this key was already carried out; this is its stored response.')
  }
}

/** Writes text unchanged to a file or pipe, and without control characters to a terminal. */
export function writeContent(output: Output, bytes: Uint8Array): void {
  output.write(output.isTerminal ? plainBlock(new TextDecoder().decode(bytes)) : bytes)
}
