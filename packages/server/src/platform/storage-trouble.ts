// A store that cannot answer now, in the words of the doors.

import { asStorageError, type StorageErrorKind } from '#platform/db/storage-error.ts'
import type { AppError } from './app-error.ts'
import { RETRY_AFTER_SECONDS } from './app-error.ts'
import { problem } from './problem.ts'

/** How the store is in trouble, or null when `error` is something else. */
export function storageTrouble(error: unknown): StorageErrorKind | null {
  return asStorageError(error)?.kind ?? null
}

/** `service_unavailable` for a store in trouble; any other error as it is. */
export function withStorageTold(error: unknown): unknown {
  const trouble = asStorageError(error)
  return trouble === null ? error : unavailable(trouble)
}

const TEXTS: Record<StorageErrorKind, string> = {
  full: 'The service has no storage left; nothing was changed.',
  busy: 'The service is too busy; nothing was changed.',
  unavailable: 'The storage of the service cannot be reached; nothing was changed.',
}

function unavailable(trouble: { kind: StorageErrorKind }): AppError {
  return problem('service_unavailable', TEXTS[trouble.kind], {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    cause: trouble,
  })
}
