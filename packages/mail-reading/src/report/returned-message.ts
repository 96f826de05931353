// Where the message that a report returns begins within its plain text: at a line that says so, or at
// a header. Refuses to read it.

export type ReturnedAt = {
  /** The lines before it are the report's own words. */
  readonly endOfWords: number
  readonly headerAt: number
}

/** Null when the text returns no message. */
export function returnedMessageAt(lines: readonly string[]): ReturnedAt | null {
  for (const [index, line] of lines.entries()) {
    if (isAnnouncement(line) && startsHeader(lines, nextFilled(lines, index + 1), 1)) {
      return { endOfWords: index, headerAt: nextFilled(lines, index + 1) }
    }
    if (/^content-type:\s*(?:message\/rfc822|text\/rfc822-headers)/i.test(line)) {
      return { endOfWords: index, headerAt: nextFilled(lines, nextEmpty(lines, index)) }
    }
    if (TRACE_FIELD.test(line) && startsHeader(lines, index, 3)) {
      return { endOfWords: index, headerAt: index }
    }
  }
  return null
}

const ANNOUNCED = [
  /\b(?:copy|header|headers|text|contents?|start|part|beginning) of (?:the|your)\b.{0,40}\b(?:message|mail)/i,
  /\b(?:original|returned|unsent|undelivered|rejected|bounced|failed|your) (?:e-?mail |mail )?(?:message|mail|header)s?\b/i,
  /\bmessage (?:header|text|content)s?\b/i,
]

/** A rule or a short sentence that ends what the report says. */
function isAnnouncement(line: string): boolean {
  const text = line.trim()
  if (text.length > 120 || text.length < 8) return false
  const isSet = /^[-=_*+#]{2,}/.test(text) || /(?:[-=_*:.]|follows?:?)$/i.test(text)
  return isSet && ANNOUNCED.some((words) => words.test(text))
}

const TRACE_FIELD =
  /^(?:return-path|received|message-id|dkim-signature|x-[\w-]+|delivered-to|mime-version|from|date|reply-to|to)\s*:/i
const FIELD = /^[A-Za-z][A-Za-z0-9-]{1,60}\s?:/
const MESSAGE_FIELD =
  /^(?:return-path|received|message-id|from|date|mime-version|dkim-signature)\s*:/i
const LOOK_AHEAD_LINES = 60

/** Whether from there on stand at least `fieldsMin` fields, one of them such as only a message has. */
function startsHeader(lines: readonly string[], from: number, fieldsMin: number): boolean {
  let fields = 0
  let isMessage = false
  for (const line of lines.slice(from, from + LOOK_AHEAD_LINES)) {
    const text = line.startsWith('> ') ? line.slice(2) : line
    if (/^\s+\S/.test(text) && fields > 0) continue
    if (!FIELD.test(text)) break
    fields += 1
    // One field may be chance where no line announced a message.
    isMessage ||= fieldsMin === 1 ? MESSAGE_FIELD.test(text) || fields > 1 : isTraceOf(text)
    if (isMessage && fields >= fieldsMin) return true
  }
  return false
}

function isTraceOf(line: string): boolean {
  return /^(?:return-path|received|message-id|dkim-signature|mime-version)\s*:/i.test(line)
}

function nextFilled(lines: readonly string[], from: number): number {
  let index = from
  while (index < lines.length && (lines[index] ?? '').trim().replace(/^[-=_*>]+$/, '') === '')
    index += 1
  return index
}

function nextEmpty(lines: readonly string[], from: number): number {
  let index = from
  while (index < lines.length && (lines[index] ?? '').trim() !== '') index += 1
  return index
}
