// A message to compose, for tests, and functions that inspect the composed octets.

import assert from 'node:assert/strict'
import { composeMessage, type OutgoingMessage } from '#compose/compose-message.ts'
import type { OutgoingMailbox } from '#compose/header-text.ts'

export function bare(address: string): OutgoingMailbox {
  return { name: null, address }
}

export function outgoing(changes: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return {
    from: { name: 'Ada', address: 'ada@mailroom.example' },
    to: [bare('bob@peer.example')],
    cc: [],
    replyTo: null,
    subject: 'Sample',
    text: 'Hello Bob',
    html: '',
    inReplyTo: null,
    references: [],
    messageId: '<m1.x@mailroom.example>',
    dateMs: Date.UTC(2026, 10, 20, 9, 0, 0),
    attachments: [],
    hopMark: null,
    unsubscribeUrl: null,
    extraFields: [],
    ...changes,
  }
}

/** The octets, after checking the promises that hold for every message. */
export async function compose(changes: Partial<OutgoingMessage> = {}): Promise<Uint8Array> {
  const { raw, needsSmtpUtf8 } = await composeMessage(outgoing(changes))
  const text = Buffer.from(raw).toString('latin1')
  assert.ok(!/\r(?!\n)|(?<!\r)\n|\0/.test(text), 'CRLF only, no NUL')
  const longest = text.split('\r\n').reduce((most, line) => Math.max(most, line.length), 0)
  assert.ok(longest <= 998, `a line of ${longest} octets`)
  const bodyStart = text.indexOf('\r\n\r\n')
  assert.ok(!/[^\x00-\x7f]/.test(text.slice(bodyStart)), 'a 7-bit body')
  assert.ok(!/[ \t]\r$/m.test(text.slice(bodyStart)), 'no blank that a server could cut')
  assert.equal(/[^\x00-\x7f]/.test(text.slice(0, bodyStart)), needsSmtpUtf8)
  return raw
}

export function headerOf(raw: Uint8Array): string {
  const text = Buffer.from(raw).toString('utf8')
  return text.slice(0, text.indexOf('\r\n\r\n'))
}

/** The names of all header fields, including those of parts, in order. */
export function fieldNames(raw: Uint8Array): string[] {
  const text = Buffer.from(raw).toString('latin1')
  return [...text.matchAll(/^([!-9;-~]+):(?= |\r)/gm)].map((match) => match[1] ?? '')
}
