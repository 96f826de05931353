// Carrying out a command that is one operation: fields to a request, the answer to what is shown.

import { operationOf } from '@mailroom/contract/operations.ts'
import type { Answer, Call } from '@mailroom/sdk/transport.ts'
import { Failure } from '#base/failure.ts'
import { type Output, openOutput } from '#base/output.ts'
import { plainBlock, plainLine } from '#base/plain-text.ts'
import { readAnswer } from '#base/read-input.ts'
import { type Field, readValue } from '#contract/fields.ts'
import { arrange, isSeveral, type OperationCommand } from '#contract/operation-command.ts'
import { findId, findOnlyInbox } from '#session/find-by-name.ts'
import { openSession, type Session } from '#session/open-session.ts'
import { show } from '#shown/show.ts'

export type GivenOptions = Readonly<Record<string, unknown>>

/** Options that every command has, as commander gives them. */
export type CommonOptions = {
  readonly profile?: string
  readonly url?: string
  readonly json?: true
  readonly color: boolean
}

export async function runOperation(
  spec: OperationCommand,
  texts: readonly (string | undefined)[],
  options: GivenOptions,
): Promise<void> {
  const common = commonOf(options)
  if (spec.isAsked && options.yes !== true) await confirm(spec, texts.at(-1) ?? '')
  const session = await openSession(common)
  const call = await makeCall(session, spec, texts, options)
  const answer = await session.transport.send(call)
  const output = openOutput({ isColored: common.color })
  showAnswer(output, spec, answer, { isJson: common.json === true, last: texts.at(-1) ?? '' })
}

export function commonOf(options: GivenOptions): CommonOptions {
  return { color: true, ...options }
}

/** Rejects unless somebody at a terminal says yes. */
async function confirm({ operation }: OperationCommand, named: string): Promise<void> {
  const what = operationOf(operation).summary.replace(/\.$/, '')
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) {
    const told = 'This cannot be undone, and there is no terminal to ask for confirmation.'
    throw new Failure('usage', told, 'Give --yes to do it anyway.')
  }
  const answer = await readAnswer(`${what}: ${plainLine(named)}\nGo on? (y/N) `)
  if (!/^y(es)?$/i.test(answer)) throw new Failure('failed', 'Nothing was done.')
}

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
  for (const field of fields.options) await put(field, options[attributeOf(field)])
  if (fields.ofInbox !== null) {
    const given = options.inbox
    const id = typeof given === 'string' ? findId(session, 'inbox', given) : findOnlyId(session)
    places.path[fields.ofInbox.name] = await id
  }
  const operation = operationOf(spec.operation)
  if (operation.method === 'PATCH' && Object.keys(places.body).length === 0) {
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

async function findOnlyId(session: Session): Promise<string> {
  return (await findOnlyInbox(session)).id
}

/** As commander names it. */
function attributeOf({ flag }: Field): string {
  return flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

async function readGiven(session: Session, field: Field, given: unknown): Promise<unknown> {
  if (typeof given === 'boolean') return given
  const texts = [given].flat().map(String)
  const read = async (text: string) => {
    const value = readValue(field, text)
    return field.named !== null && typeof value === 'string'
      ? findId(session, field.named, value)
      : value
  }
  if (!isSeveral(field)) return read(texts[0] ?? '')
  const values: unknown[] = []
  for (const text of texts) values.push(await read(text))
  return field.isList ? values : values.join(',')
}

type ShowOptions = { isJson: boolean; last: string }

function showAnswer(
  output: Output,
  { operation, shown }: OperationCommand,
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
  } else if (shown.kind === 'done' && !isJson) {
    if (output.isTerminal) output.note(plainBlock(shown.text.replace('{}', () => last)))
  }
  if (headers.get('idempotency-replayed') === 'true') {
    output.note('A request with this key has already been carried out; this is its stored answer.')
  }
}

/** As it came into a file or a program; without what steers a terminal on a terminal. */
export function writeContent(output: Output, bytes: Uint8Array): void {
  output.write(output.isTerminal ? plainBlock(new TextDecoder().decode(bytes)) : bytes)
}
