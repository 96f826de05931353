// Whether the service can take requests and mail, and what it waits for.

import type { SmtpServer } from '@mailroom/smtp/server/server.ts'
import type { Db } from '#schema/tables.ts'

export type Life = {
  phase: 'starting' | 'serving' | 'draining'
  /** So long its end lets work in hand finish. */
  drainMs: number
}

/** Why the service is not ready, or null. */
export async function findObstacle(
  life: Life,
  doors: { readonly smtp: Pick<SmtpServer, 'isListening'> | null },
  store: { readonly db: Pick<Db, 'check'> },
): Promise<string | null> {
  if (life.phase === 'draining') return 'The service is shutting down.'
  if (life.phase === 'starting') return 'The service is starting.'
  if (doors.smtp !== null && !doors.smtp.isListening()) return 'The SMTP listener is not ready.'
  const isReachable = await store.db.check().then(
    () => true,
    () => false,
  )
  return isReachable ? null : 'The database is not ready.'
}
