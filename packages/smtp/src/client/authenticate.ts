// AUTH (RFC 4954) with PLAIN (RFC 4616) or LOGIN. What it reports never holds the password, also when
// the server says it back.

import type { PeerReply } from '@mailroom/mail/smtp/reply.ts'
import type { Answer, Channel } from './channel.ts'
import { type Failure, protocolFailure, toClientReply, unexpectedReply } from './failure.ts'

export type Credentials = { readonly user: string; readonly password: string }

/** Null when the server has let us in. `mechanisms` are those that it offers, in upper case. */
export async function authenticate(
  channel: Channel,
  mechanisms: readonly string[],
  credentials: Credentials,
  timeoutMs: number,
): Promise<Failure | null> {
  const { user, password } = credentials
  const plain = base64(`\0${user}\0${password}`)
  const secrets = [password, plain, base64(password)].filter((secret) => secret !== '')
  if (mechanisms.includes('PLAIN') && !`${user}${password}`.includes('\0')) {
    return judge(await channel.ask(`AUTH PLAIN ${plain}\r\n`, timeoutMs), 2, secrets)
  }
  if (!mechanisms.includes('LOGIN')) {
    return protocolFailure('The server offers neither AUTH PLAIN nor AUTH LOGIN')
  }
  return (
    judge(await channel.ask('AUTH LOGIN\r\n', timeoutMs), 3, secrets) ??
    judge(await channel.ask(`${base64(user)}\r\n`, timeoutMs), 3, secrets) ??
    judge(await channel.ask(`${base64(password)}\r\n`, timeoutMs), 2, secrets)
  )
}

function judge(answer: Answer, digit: 2 | 3, secrets: readonly string[]): Failure | null {
  if (answer.kind === 'failed') return answer.failure
  const first = Math.floor(answer.reply.code / 100)
  if (first === digit) return null
  const reply = redact(answer.reply, secrets)
  return first === 2 || first === 3
    ? unexpectedReply(reply)
    : { kind: 'reply', reply: toClientReply(reply) }
}

function redact(reply: PeerReply, secrets: readonly string[]): PeerReply {
  const lines = reply.lines.map((line) =>
    secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line),
  )
  return { code: reply.code, lines }
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
