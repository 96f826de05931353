// Scans a message with rspamd by POST /checkv2 to its controller or a worker.

import type { ArrivingBytes, ScanAnswer } from './scan-answer.ts'

/** The bound is larger than any answer of rspamd. */
const ANSWER_BYTES_MAX = 1 << 20
const NAMED_SYMBOLS = 5
const SPAM_ACTIONS = new Set(['reject', 'add header', 'rewrite subject'])

type Symbols = Readonly<Record<string, { readonly score?: unknown } | null>>

/** Rejects if there is no usable answer. */
export async function askRspamd(
  baseUrl: string,
  mail: ArrivingBytes,
  signal: AbortSignal,
): Promise<ScanAnswer> {
  const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/checkv2`, {
    method: 'POST',
    headers: headersOf(mail),
    body: mail.raw as Uint8Array<ArrayBuffer>,
    redirect: 'error',
    signal,
  })
  const text = await readText(response)
  if (!response.ok) throw new Error(`status ${response.status}`)
  return readAnswer(JSON.parse(text))
}

function headersOf({ reversePath, recipients, clientAddress, helo }: ArrivingBytes): Headers {
  const headers = new Headers({ 'content-type': 'message/rfc822' })
  const add = (name: string, value: string | null) => {
    if (value !== null && /^[\x21-\x7e]+$/.test(value)) headers.append(name, value)
  }
  add('From', reversePath)
  for (const recipient of recipients) add('Rcpt', recipient)
  add('IP', clientAddress)
  add('Helo', helo)
  return headers
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

function readAnswer(answer: unknown): ScanAnswer {
  const { score, action, required_score, symbols } = (answer ?? {}) as Record<string, unknown>
  if (typeof score !== 'number' || !Number.isFinite(score) || typeof action !== 'string') {
    throw new Error('the answer has no score and action')
  }
  if (!SPAM_ACTIONS.has(action)) return { verdict: 'clean', spamScore: score }
  const named = namesOf((symbols ?? {}) as Symbols)
  const detail = `${action}, ${score} of ${String(required_score)}: ${named.join(', ')}`
  return { verdict: 'spam', spamScore: score, reason: { rule: 'rspamd', detail } }
}

function namesOf(symbols: Symbols): string[] {
  const scored = Object.entries(symbols).map(([name, symbol]) => ({
    name,
    score: typeof symbol?.score === 'number' ? symbol.score : 0,
  }))
  const raising = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  return raising.slice(0, NAMED_SYMBOLS).map(({ name }) => name)
}
