// Extracts text from attachments of received mail in the background, one message at a time.

import { isReadOnArrival } from '#mailbox/attachments/store/extract-on-arrival.ts'
import { listReadFiles } from '#mailbox/attachments/store/texts.ts'
import { findMessage } from '#mailbox/messages/store/messages.ts'
import { raceAbort } from '#platform/abort.ts'
import { Cache } from '#platform/cache.ts'
import { addressKey } from '#platform/email-address.ts'
import { HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import type { JobKind } from '#queue/work-jobs.ts'
import type { AttachmentTexts, ReadingDeps } from './extract-text.ts'

const FILES_MAX = 20
/** After this many timeouts of a message or sender, files are extracted only on request. */
const TIMEOUTS_MAX = 2
/** Timeouts of a sender are forgotten after this time. */
const SENDER_MS = HOUR_MS
const SENDERS_MAX = 10_000
const MESSAGE_MS_MAX = MINUTE_MS

type Deps = ReadingDeps & { attachmentTexts: AttachmentTexts }

export function attachmentTextWork(
  deps: Deps,
  { readAttachments }: { readAttachments: boolean },
): FeatureWork {
  return { jobs: readAttachments ? [extractionJobs(deps)] : [] }
}

/** Each job is keyed by a message id. */
export function extractionJobs(deps: Deps): JobKind {
  const now = () => deps.clock.monotonic()
  const timeouts = new Cache<number>({ entriesMax: SENDERS_MAX, now })
  return {
    name: 'extraction',
    faultsMax: 3,
    async run([{ accountId, key }], { signal }) {
      const isRead = await readFiles({ ...deps, timeouts }, { accountId, messageId: key, signal })
      return isRead ? 'done' : 'again'
    },
  }
}

async function readFiles(
  deps: Deps & { timeouts: Cache<number> },
  { accountId, messageId, signal }: { accountId: string; messageId: string; signal: AbortSignal },
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
    const { rawId, inboxId } = message
    const found = { messageId, rawId, inboxId, attachment }
    // Extraction may take ten seconds per file, and a shutdown must not wait for it.
    const text = await raceAbort(deps.attachmentTexts.of(deps, accountId, found), { signal })
    if (text?.mayPass !== true) continue
    timeouts.set(sender, (timeouts.get(sender) ?? 0) + 1, { ttlMs: SENDER_MS })
  }
  return !signal.aborted
}
