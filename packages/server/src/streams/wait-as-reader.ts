import type { EndReason, EventReader, EventReaders } from '#http/event-readers.ts'
import type { KeyContext } from '#http/handler.ts'
import { problem } from '#platform/problem.ts'

/**
 * Aborts `run` when the client leaves, the key is revoked or the service stops. Throws
 * `unauthorized` or `service_unavailable` in the last two cases.
 */
export async function waitAsReader<Found>(
  readers: EventReaders,
  context: KeyContext,
  run: (signal: AbortSignal) => Promise<Found | null>,
): Promise<Found | null> {
  const { accountId, keyId, session } = context
  const over = new AbortController()
  let reason: EndReason | null = null
  const reader: EventReader = {
    accountId,
    keyId,
    session,
    kind: 'wait',
    slot: null,
    end(why) {
      reason = why
      over.abort()
    },
  }
  readers.add(reader)
  context.onGone(() => over.abort())
  try {
    const found = await run(over.signal)
    if (found !== null) return found
  } catch (error) {
    if (!over.signal.aborted) throw error
  } finally {
    readers.remove(reader)
  }
  if (reason !== null) throw problemOfEnd(reason)
  return null
}

function problemOfEnd(reason: EndReason) {
  return reason === 'closing'
    ? problem('service_unavailable', 'The service is shutting down.')
    : problem('unauthorized', 'The API key was revoked.')
}
