// What became of mail at the listener, as figures.

import type { CountOutcome } from '@mailroom/smtp/server/outcome.ts'
import type { Metrics } from '#platform/telemetry/metrics.ts'

/** A listener of the engine's outcomes that counts them by kind and reply code. */
export function outcomeCounter(metrics: Metrics): CountOutcome {
  return (outcome) => {
    metrics.countSmtpOutcome({ outcome: outcome.kind, code: codeOf(outcome) })
  }
}

function codeOf(outcome: Parameters<CountOutcome>[0]): number {
  switch (outcome.kind) {
    case 'recipient-refused':
    case 'message-refused':
      return outcome.code
    case 'recipient-accepted':
    case 'message-accepted':
      return 250
    case 'connection-refused':
    case 'connection-cut':
      return 421
    case 'connection-opened':
      return 220
    case 'connection-closed':
      return 221
    case 'message-aborted':
      return 0
  }
}
