// Errors of a store that cannot answer now.

export type StorageErrorKind =
  | 'full'
  /** The database is locked by another process, or too many writes are waiting. */
  | 'busy'
  | 'unavailable'

export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly kind: StorageErrorKind

  constructor(kind: StorageErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

const TOO_MANY = 'Too many writes are waiting.'

export function tooManyWrites(): StorageError {
  return new StorageError('busy', TOO_MANY)
}

/** Whether the write was refused before it reached the store. */
export function isRefusal(error: unknown): boolean {
  return error instanceof StorageError && error.message === TOO_MANY
}

/** A lock timeout, a deadlock or a statement timeout of PostgreSQL, which has rolled back. */
export function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof StorageError ? error.cause : error
  return ['55P03', '40P01', '57014'].includes(String((cause as { code?: unknown } | null)?.code))
}

// Primary result codes of https://sqlite.org/rescode.html.
const SQLITE_KINDS: Record<number, StorageErrorKind> = {
  5: 'busy',
  6: 'busy',
  7: 'unavailable',
  8: 'unavailable',
  10: 'unavailable',
  11: 'unavailable',
  13: 'full',
  14: 'unavailable',
  15: 'busy',
  26: 'unavailable',
}

// SQLSTATE classes of PostgreSQL's appendix A.
const SQLSTATE_KINDS: [prefix: string, kind: StorageErrorKind][] = [
  ['53100', 'full'],
  ['53', 'busy'],
  ['55P03', 'busy'],
  ['57', 'unavailable'],
  ['58', 'unavailable'],
  ['08', 'unavailable'],
  ['40', 'busy'],
  ['25006', 'unavailable'],
]

const SYSTEM_KINDS: Record<string, StorageErrorKind> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EMFILE: 'busy',
  ENFILE: 'busy',
  EIO: 'unavailable',
  ECONNREFUSED: 'unavailable',
  ECONNRESET: 'unavailable',
  ECONNABORTED: 'unavailable',
  EPIPE: 'unavailable',
  ENOTFOUND: 'unavailable',
  EAI_AGAIN: 'unavailable',
  ETIMEDOUT: 'unavailable',
  EHOSTUNREACH: 'unavailable',
  EHOSTDOWN: 'unavailable',
  ENETUNREACH: 'unavailable',
  ENETDOWN: 'unavailable',
  EADDRNOTAVAIL: 'busy',
}

/** pg and Kysely report lost and closed connections by message only. */
const LOST_CONNECTION =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client (has encountered a connection error|was closed) and is not queryable|Query read timeout|Postgres connection has been discarded|Cannot use a pool after calling end on the pool|driver has already been destroyed)/

/** Returns null if the error is a fault of the program. */
export function asStorageError(error: unknown): StorageError | null {
  if (error instanceof StorageError) return error
  if (!(error instanceof Error)) return null
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') {
    const kind = SQLITE_KINDS[errcode & 0xff]
    return kind === undefined ? null : new StorageError(kind, error.message, error)
  }
  if (typeof code === 'string') {
    const kind = Object.hasOwn(SYSTEM_KINDS, code)
      ? SYSTEM_KINDS[code]
      : SQLSTATE_KINDS.find(([prefix]) => code.startsWith(prefix))?.[1]
    if (kind !== undefined) return new StorageError(kind, error.message, error)
  }
  if (LOST_CONNECTION.test(error.message)) {
    return new StorageError('unavailable', error.message, error)
  }
  return null
}

export type Failure = { kind: StorageErrorKind | 'fault'; message: string; stack?: string }

export function toFailure(error: unknown): Failure {
  const storage = asStorageError(error)
  if (storage !== null) return { kind: storage.kind, message: storage.message }
  if (!(error instanceof Error)) return { kind: 'fault', message: String(error) }
  return { kind: 'fault', message: error.message, ...(error.stack && { stack: error.stack }) }
}

export function fromFailure({ kind, message, stack }: Failure): Error {
  if (kind !== 'fault') return new StorageError(kind, message)
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return error
}
