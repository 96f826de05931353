// What a client of the WebSocket says in one frame, or what is wrong with it. Knows the form of
// frames, not whose ids they hold.

/** Entries of inbox_ids or pod_ids of one subscription or webhook. */
export const FILTER_IDS_MAX = 1_000

export type ClientFrame =
  | {
      readonly kind: 'subscribe'
      readonly kinds: readonly string[]
      readonly podIds: readonly string[]
      readonly inboxIds: readonly string[]
      readonly afterId: string | null
    }
  /** Null: all subscriptions. */
  | { readonly kind: 'unsubscribe'; readonly inboxIds: readonly string[] | null }
  | { readonly kind: 'ping' }
  /** One sentence that names what is wrong. */
  | { readonly kind: 'mistake'; readonly message: string }

/** Total: any text is a frame or a mistake. Members that no frame has are passed over. */
export function readFrame(text: string): ClientFrame {
  const frame = parse(text)
  if (frame === undefined) return mistake('The frame is not JSON.')
  if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) {
    return mistake('The frame is not a JSON object.')
  }
  const members = frame as Readonly<Record<string, unknown>>
  try {
    return readMembers(members)
  } catch (error) {
    if (error instanceof Mistake) return mistake(error.message)
    throw error
  }
}

function readMembers(members: Readonly<Record<string, unknown>>): ClientFrame {
  switch (members.type) {
    case 'subscribe':
      return {
        kind: 'subscribe',
        kinds: readList(members, 'event_types'),
        podIds: readList(members, 'pod_ids'),
        inboxIds: readList(members, 'inbox_ids'),
        afterId: readId(members, 'last_event_id'),
      }
    case 'unsubscribe': {
      const inboxIds = readList(members, 'inbox_ids')
      return { kind: 'unsubscribe', inboxIds: inboxIds.length === 0 ? null : inboxIds }
    }
    case 'ping':
      return { kind: 'ping' }
    case undefined:
      throw new Mistake('The frame has no "type".')
    default:
      throw new Mistake(
        `The type ${quoted(members.type)} is not "subscribe", "unsubscribe" or "ping".`,
      )
  }
}

class Mistake extends Error {}

function mistake(message: string): ClientFrame {
  return { kind: 'mistake', message }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Without repeats; left out and null are empty. */
function readList(members: Readonly<Record<string, unknown>>, name: string): readonly string[] {
  const value = members[name] ?? []
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new Mistake(`"${name}" must be an array of strings.`)
  }
  if (value.length > FILTER_IDS_MAX) {
    throw new Mistake(`"${name}" must have at most ${FILTER_IDS_MAX} entries.`)
  }
  for (const entry of value) refuseNul(name, entry)
  return [...new Set(value)]
}

function readId(members: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = members[name] ?? null
  if (value !== null && typeof value !== 'string') throw new Mistake(`"${name}" must be a string.`)
  if (value !== null) refuseNul(name, value)
  return value
}

/** No id holds it, and a database would refuse it with an exception. */
function refuseNul(name: string, text: string): void {
  if (text.includes('\0')) throw new Mistake(`"${name}" must not contain the character U+0000.`)
}

const QUOTED_LENGTH_MAX = 100

/** A value of a client's as part of a sentence. */
export function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
}
