// Reads the attachments of mail after it has arrived, one message at a time in each process.

import { findMessage, listReadFiles } from '#mailbox/mailbox-rows.ts'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import { addressKey } from '#platform/email-address.ts'
import type { Log } from '#platform/log.ts'
import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { failureOf } from '#queue/trouble.ts'
import {
  type AttachmentRead,
  claimAttachmentRead,
  endAttachmentRead,
  hasDueRead,
  renewAttachmentRead,
} from './attachment-text-rows.ts'
import type { AttachmentTexts, ReadingDeps } from './read-attachment-text.ts'
import { isReadOnArrival } from './read-on-arrival.ts'

/** Of a message; its further ones are read when somebody asks for them. */
const FILES_MAX = 20
/** Files of a message, or of a sender to an account, that may take too long; the others are read when asked for. */
const TIMEOUTS_MAX = 2
/** How long a sender's files are left, and how many senders are known. */
const SENDER_LEFT_MS = HOUR_MS
const SENDERS_MAX = 10_000
/** Time for all files of a message. */
const MESSAGE_MS_MAX = MINUTE_MS
const ATTEMPTS_MAX = 3
const RETRY_MS = MINUTE_MS

type Deps = ReadingDeps & { attachmentTexts: AttachmentTexts; log: Log }

/** One for each process. The function reads the attachments of a message; true when there may be more. */
export function openAttachmentReading(
  deps: Deps,
): (options: { worker: string; signal: AbortSignal }) => Promise<boolean> {
  let afterAccount = ''
  const now = () => deps.clock.monotonic()
  const timeouts = new Cache<number>({ entriesMax: SENDERS_MAX, now })
  return async ({ worker, signal }) => {
    const { db, clock, log } = deps
    if (signal.aborted || !(await hasDueRead(db, clock.now()))) return false
    const read = await db.write(claimAttachmentRead, { worker, afterAccount, nowMs: clock.now() })
    if (read === null) return false
    afterAccount = read.accountId
    const { messageId, attempts } = read
    let notBeforeMs: number | null = null
    try {
      if (!(await readFiles({ ...deps, timeouts }, read, { worker, signal })))
        notBeforeMs = clock.now()
    } catch (error) {
      const { isPassing } = failureOf(error)
      if (isPassing || attempts < ATTEMPTS_MAX) notBeforeMs = clock.now() + RETRY_MS
      if (!isPassing)
        log.warn({ error, messageId }, 'the attachments of a message could not be read')
    }
    await db.write(endAttachmentRead, { messageId, worker, notBeforeMs, nowMs: clock.now() })
    return !signal.aborted
  }
}

/** False when it was left before its end. */
async function readFiles(
  deps: Deps & { timeouts: Cache<number> },
  { messageId, accountId }: AttachmentRead,
  { worker, signal }: { worker: string; signal: AbortSignal },
): Promise<boolean> {
  const message = await findMessage(deps.db, accountId, messageId, { lengthMax: 0 })
  if (message === null) return true
  const known = new Set(await listReadFiles(deps.db, messageId))
  const wanted = message.attachments
    .filter((one) => isReadOnArrival(one, deps.fileReader))
    .slice(0, FILES_MAX)
    .filter(({ filename }) => !known.has(filename))
  const { clock, timeouts } = deps
  const sender = `${accountId} ${addressKey(message.fromAddr)}`
  const untilMs = clock.monotonic() + MESSAGE_MS_MAX
  for (const attachment of wanted) {
    if (signal.aborted) return false
    const isCostly = (timeouts.get(sender) ?? 0) >= TIMEOUTS_MAX
    if (isCostly || clock.monotonic() > untilMs) return true
    const nowMs = deps.clock.now()
    if (!(await deps.db.write(renewAttachmentRead, { messageId, worker, nowMs }))) return true
    const { rawId, inboxId } = message
    const found = { messageId, rawId, inboxId, attachment }
    // A file may take ten seconds, for which a service that ends should not wait.
    const text = await raceAbort(deps.attachmentTexts.of(deps, accountId, found), { signal })
    if (text?.mayPass !== true) continue
    timeouts.set(sender, (timeouts.get(sender) ?? 0) + 1, { ttlMs: SENDER_LEFT_MS })
  }
  return !signal.aborted
}
