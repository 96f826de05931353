// Restrictions of a connection, which can reduce the access of its key but never widen it.

export type Restriction = {
  /** Id or address of the only inbox of this connection; null for all inboxes of the account. */
  readonly inbox: string | null
  /** Omits the tools that send, create or change anything. */
  readonly isReadOnly: boolean
}

/** The message is for the person who set up the connection. */
export type RestrictionReading =
  | { readonly kind: 'restriction'; readonly restriction: Restriction }
  | { readonly kind: 'mistake'; readonly message: string }

const NAMES = new Set(['inbox', 'read_only'])

/**
 * Parses the query of the endpoint. An unknown name or value is an error, so that a typo does not
 * leave a connection unrestricted.
 */
export function readRestriction(query: URLSearchParams): RestrictionReading {
  for (const name of query.keys()) {
    if (!NAMES.has(name))
      return mistake(`The endpoint supports the parameters inbox and read_only, not ${name}.`)
    if (query.getAll(name).length > 1) return mistake(`${name} must be given once.`)
  }
  const inbox = query.get('inbox')
  if (inbox === '') return mistake('inbox must be the id or the address of an inbox.')
  const isReadOnly = readBoolean(query.get('read_only'))
  if (isReadOnly === null) return mistake('read_only must be true or false.')
  return { kind: 'restriction', restriction: { inbox, isReadOnly } }
}

const PREFIX = 'MAILROOM_MCP_'
const SETTINGS = new Set(['MAILROOM_MCP_INBOX', 'MAILROOM_MCP_READ_ONLY'])

/**
 * Parses the environment. An unknown name is an error, and so is an empty value, which often comes
 * from an unset variable.
 */
export function readRestrictionSettings(
  env: Readonly<Record<string, string | undefined>>,
): RestrictionReading {
  const { MAILROOM_MCP_INBOX: inbox, MAILROOM_MCP_READ_ONLY: readOnly } = env
  const unknown = Object.keys(env).find((name) => name.startsWith(PREFIX) && !SETTINGS.has(name))
  if (unknown !== undefined) {
    return mistake(`Unknown setting ${unknown}; supported are ${[...SETTINGS].join(' and ')}.`)
  }
  if (inbox?.trim() === '') {
    return mistake('MAILROOM_MCP_INBOX must be the id or the address of an inbox, or not be set.')
  }
  const isReadOnly = readOnly === '' ? null : readBoolean(readOnly ?? null)
  if (isReadOnly === null) {
    return mistake('MAILROOM_MCP_READ_ONLY must be true or false, or not be set.')
  }
  return { kind: 'restriction', restriction: { inbox: inbox ?? null, isReadOnly } }
}

/** Null for any other text; a missing value is false. */
function readBoolean(text: string | null): boolean | null {
  if (text === null || text === 'false' || text === '0') return false
  return text === 'true' || text === '1' || text === '' ? true : null
}

function mistake(message: string): RestrictionReading {
  return { kind: 'mistake', message }
}
