// The beginning of a raw message, without reading the rest of it.

import { MailroomError } from '@mailroom/sdk'
import { consoleFetch } from '#data/session.ts'

export type Source = { text: string; isWhole: boolean }

const HEADER_END = /\r?\n\r?\n/

/** Octets are shown as Latin-1 where they are no UTF-8, as nothing else says what they are. */
export async function readSource(
  id: string,
  { bytesMax, isHeaderOnly }: { bytesMax: number; isHeaderOnly: boolean },
  signal: AbortSignal,
): Promise<Source> {
  const response = await consoleFetch(rawPath(id), { signal })
  if (!response.ok || response.body === null) {
    throw new MailroomError(response.status, response.headers, await response.text())
  }
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isWhole: true }
    bytes += value.length
    text += decoder.decode(value, { stream: true })
    const end = isHeaderOnly ? HEADER_END.exec(text) : null
    if (end !== null) {
      await reader.cancel()
      return { text: text.slice(0, end.index), isWhole: true }
    }
    if (bytes >= bytesMax) {
      await reader.cancel()
      return { text: text.slice(0, bytesMax), isWhole: false }
    }
  }
}

export function rawPath(id: string): string {
  return `/v1/messages/${encodeURIComponent(id)}/raw`
}

export type HeaderField = { name: string; value: string }

/** Fields in their order, folding undone (RFC 5322 §2.2.3). */
export function readFields(header: string): HeaderField[] {
  const fields: HeaderField[] = []
  for (const line of header.split(/\r?\n/)) {
    const last = fields.at(-1)
    if (/^[ \t]/.test(line) && last !== undefined) {
      last.value += ` ${line.trim()}`
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0) fields.push({ name: line.slice(0, colon), value: line.slice(colon + 1).trim() })
  }
  return fields
}
