// Reads restrictions from the query of the endpoint and from the environment. An unknown name or
// value is an error, so that a typo does not leave a connection unrestricted.

import { readToolSet } from './all-tools.ts'
import { type Restriction, unrestricted } from './restriction.ts'

/** The message is for the person who set up the connection. */
export type RestrictionReading =
  | { readonly kind: 'restriction'; readonly restriction: Restriction }
  | { readonly kind: 'mistake'; readonly message: string }

const NAMES = new Set(['inbox', 'read_only', 'tools'])

export function readRestriction(query: URLSearchParams): RestrictionReading {
  for (const name of query.keys()) {
    if (!NAMES.has(name))
      return mistake(`The endpoint supports the parameters ${listed(NAMES)}, not ${name}.`)
    if (query.getAll(name).length > 1) return mistake(`${name} must be given once.`)
  }
  const inbox = query.get('inbox')
  if (inbox === '') return mistake('inbox must be the id or the address of an inbox.')
  const isReadOnly = readBoolean(query.get('read_only'))
  if (isReadOnly === null) return mistake('read_only must be true or false.')
  return withTools(query.get('tools'), 'tools', { ...unrestricted, inbox, isReadOnly })
}

const PREFIX = 'MAILROOM_MCP_'
const TOOLS = 'MAILROOM_MCP_TOOLS'
const SETTINGS = new Set(['MAILROOM_MCP_INBOX', 'MAILROOM_MCP_READ_ONLY', TOOLS])

/** An empty value is an error too, because it often comes from an unset variable. */
export function readRestrictionSettings(
  env: Readonly<Record<string, string | undefined>>,
): RestrictionReading {
  const { MAILROOM_MCP_INBOX: inbox, MAILROOM_MCP_READ_ONLY: readOnly } = env
  const unknown = Object.keys(env).find((name) => name.startsWith(PREFIX) && !SETTINGS.has(name))
  if (unknown !== undefined) {
    return mistake(`Unknown setting ${unknown}; supported are ${listed(SETTINGS)}.`)
  }
  if (inbox?.trim() === '') {
    return mistake('MAILROOM_MCP_INBOX must be the id or the address of an inbox, or not be set.')
  }
  const isReadOnly = readOnly === '' ? null : readBoolean(readOnly ?? null)
  if (isReadOnly === null) {
    return mistake('MAILROOM_MCP_READ_ONLY must be true or false, or not be set.')
  }
  const restriction = { ...unrestricted, inbox: inbox ?? null, isReadOnly }
  return withTools(env[TOOLS] ?? null, TOOLS, restriction)
}

function withTools(
  text: string | null,
  name: string,
  restriction: Restriction,
): RestrictionReading {
  if (text === null) return { kind: 'restriction', restriction }
  const reading = readToolSet(text)
  return reading.kind === 'mistake'
    ? mistake(`${name} ${reading.message}`)
    : { kind: 'restriction', restriction: { ...restriction, tools: reading.tools } }
}

/** Null for any other text; a missing value is false. */
function readBoolean(text: string | null): boolean | null {
  if (text === null || text === 'false' || text === '0') return false
  return text === 'true' || text === '1' || text === '' ? true : null
}

/** `a, b and c`. */
function listed(names: ReadonlySet<string>): string {
  return [...names].join(', ').replace(/, (?=[^,]*$)/, ' and ')
}

function mistake(message: string): RestrictionReading {
  return { kind: 'mistake', message }
}
