// Asks the configured scanners: rspamd for spam, clamd for viruses. A scanner that is down or slow
// delays mail by at most SCAN_MS_MAX and never loses any.

import type { CategoryReason } from '@mailroom/mail/mime/parsed-message.ts'
import type { ScanResult } from '#mailbox/messages/store/message-kind.ts'
import type { Log } from '#platform/log.ts'
import { SECOND_MS } from '#platform/units.ts'
import { askClamd, clamdAddressOf } from './ask-clamd.ts'
import { askRspamd } from './ask-rspamd.ts'
import type { ArrivingBytes, ScanAnswer } from './scan-answer.ts'

const SCAN_MS_MAX = 2 * SECOND_MS

export type MailScanner = {
  /** The promise never rejects. */
  scan(mail: ArrivingBytes): Promise<ScanResult>
}

/** Returns null if no scanner is configured. */
export function openMailScanner({
  rspamdUrl,
  clamdUrl,
  log,
}: {
  rspamdUrl: string | null
  clamdUrl: string | null
  log: Log
}): MailScanner | null {
  const ask: ((mail: ArrivingBytes) => Promise<ScanAnswer | Failure>)[] = []
  if (rspamdUrl !== null) {
    ask.push(guarded('rspamd', log, (mail, signal) => askRspamd(rspamdUrl, mail, signal)))
  }
  if (clamdUrl !== null) {
    const address = clamdAddressOf(clamdUrl)
    ask.push(guarded('clamd', log, ({ raw }, signal) => askClamd(address, raw, signal)))
  }
  if (ask.length === 0) return null
  return { scan: async (mail) => join(await Promise.all(ask.map((one) => one(mail)))) }
}

type Failure = { readonly verdict: null; readonly spamScore: null; readonly reason: CategoryReason }

/** Logs the first of several failures, and the recovery. */
function guarded(
  rule: string,
  log: Log,
  ask: (mail: ArrivingBytes, signal: AbortSignal) => Promise<ScanAnswer>,
): (mail: ArrivingBytes) => Promise<ScanAnswer | Failure> {
  let isFailing = false
  return async (mail) => {
    try {
      const answer = await ask(mail, AbortSignal.timeout(SCAN_MS_MAX))
      if (isFailing) log.info({ scanner: rule }, 'a mail scanner is responding again')
      isFailing = false
      return answer
    } catch (error) {
      if (!isFailing) log.warn({ scanner: rule, error }, 'a mail scanner is not responding')
      isFailing = true
      return { verdict: null, spamScore: null, reason: { rule, detail: describe(error) } }
    }
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'not available'
  if (error.name === 'TimeoutError') return `not available: no answer within ${SCAN_MS_MAX} ms`
  const { code } = (error.cause ?? error) as { code?: unknown }
  if (typeof code === 'string') return `not available: ${code}`
  return `not available: ${error.message.slice(0, 100)}`
}

function join(answers: readonly (ScanAnswer | Failure)[]): ScanResult {
  const verdicts = answers.map(({ verdict }) => verdict)
  const worst = (['malicious', 'spam', null, 'clean'] as const).find((one) =>
    verdicts.includes(one),
  )
  return {
    verdict: worst ?? null,
    spamScore: answers.find(({ spamScore }) => spamScore !== null)?.spamScore ?? null,
    reasons: answers.flatMap(({ reason }) => reason ?? []),
  }
}
