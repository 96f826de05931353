// The common part of the tests of the SMTP client: a client of a scripted server, and outcomes as short texts.

import assert from 'node:assert/strict'
import type {
  Failure,
  OpenOptions,
  OutgoingMail,
  RecipientOutcome,
} from '@mailroom/smtp/client/outgoing-mail.ts'
import { openSmtpClient, type SmtpClient } from '@mailroom/smtp/client/smtp-client.ts'

export const RAW = Buffer.from('Subject: hello\r\n\r\nOne line\r\n')

/** Connects to a port of 127.0.0.1, by default in clear text. */
export function open(port: number, options: Partial<OpenOptions> = {}) {
  const plain = { address: '127.0.0.1', hostname: 'client.example', tls: { kind: 'none' } } as const
  return openSmtpClient({ ...plain, port, ...options })
}

/** A client that opened. */
export async function openClient(
  port: number,
  options: Partial<OpenOptions> = {},
): Promise<SmtpClient> {
  const opened = await open(port, options)
  if (opened.kind === 'failed') assert.fail(JSON.stringify(opened))
  return opened.client
}

/** The error of opening, as `stage: failure`. */
export async function failToOpen(
  port: number,
  options: Partial<OpenOptions> = {},
): Promise<string> {
  const opened = await open(port, options)
  if (opened.kind === 'failed') return `${opened.stage}: ${describeFailure(opened.failure)}`
  opened.client.destroy()
  return 'open'
}

/** A mail from a@a.example to `recipients`. */
export function mailTo(
  recipients: string | readonly string[],
  changes: Partial<OutgoingMail> = {},
): OutgoingMail {
  const to = typeof recipients === 'string' ? [recipients] : recipients
  return { reversePath: 'a@a.example', recipients: to, raw: RAW, needsSmtpUtf8: false, ...changes }
}

/** Outcomes as `kind stage code enhanced` or `kind stage failure`. */
export function describeOutcomes(outcomes: readonly RecipientOutcome[]): string[] {
  return outcomes.map(describeOutcome)
}

function describeOutcome(outcome: RecipientOutcome): string {
  switch (outcome.kind) {
    case 'accepted':
      return `accepted ${outcome.reply.code}`
    case 'refused':
      return `refused ${outcome.stage} ${outcome.reply.code} ${outcome.reply.enhanced ?? '-'}`
    case 'unsent':
      return `unsent ${outcome.stage} ${describeFailure(outcome.failure)}`
    case 'ambiguous':
      return `ambiguous ${describeFailure(outcome.failure)}`
  }
}

export function describeFailure(failure: Failure): string {
  if (failure.kind === 'reply') return `reply ${failure.reply.code}`
  return failure.kind === 'network' ? `network ${failure.code}` : failure.kind
}
