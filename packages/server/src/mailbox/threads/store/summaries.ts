// Thread summaries. A new newest message updates the summary; other changes recompute it.

import type { Participant } from '@mailroom/contract/threads.ts'
import { parseAddressList } from '@mailroom/mail/address-list.ts'
import type { Defect } from '@mailroom/mail/mime/parsed-message.ts'
import { RemovalTally, stripInvisible } from '@mailroom/mail-reading/view/removal.ts'
import { sql } from 'kysely'
import { addressKey } from '#platform/email-address.ts'
import { type ReadDb, type Row, readIn, type Tx } from '#store/tables.ts'

/** A recomputed summary considers this many of the newest messages. */
const SUMMED_UP_MESSAGES_MAX = 100

export type ThreadSummary = Pick<
  Row<'threads'>,
  'id' | 'last_message_at' | 'participants' | 'snippet' | 'category'
> & { first: Pick<Row<'messages'>, 'id' | 'created_at' | 'subject'> }

/** The caller must have locked the counters of the inbox. */
export async function renewSummaries(tx: Tx, threadIds: readonly string[]): Promise<void> {
  for (const { id, first: _, ...summary } of await sumUp(readIn(tx), threadIds)) {
    await tx.query.updateTable('threads').set(summary).where('id', '=', id).execute()
  }
}

export async function sumUp(db: ReadDb, threadIds: readonly string[]): Promise<ThreadSummary[]> {
  if (threadIds.length === 0) return []
  const ends = await selectEnds(db, threadIds)
  const byThread = Map.groupBy(await selectNewest(db, threadIds), ({ thread_id }) => thread_id)
  const newest = [...byThread.values()].flatMap((messages) => messages.at(-1)?.id ?? [])
  const texts = new Map((await selectTexts(db, newest)).map((text) => [text.thread_id, text]))
  return ends.flatMap(({ thread_id: id, category, ...first }) => {
    let participants: Participant[] = []
    const messages = byThread.get(id) ?? []
    for (const message of messages) participants = addParticipants(participants, message)
    const last = messages.at(-1)
    const text = texts.get(id)
    if (last === undefined || text === undefined) return []
    return {
      id,
      last_message_at: last.created_at,
      participants: JSON.stringify(participants),
      snippet: snippetOf(text),
      category,
      first,
    }
  })
}

/** Also selects the category of the newest received message. */
function selectEnds(db: ReadDb, threadIds: readonly string[]) {
  return db.read
    .selectFrom('threads')
    .innerJoin('messages', (join) =>
      join.on('messages.id', '=', ({ selectFrom }) =>
        selectFrom('messages as oldest')
          .select('oldest.id')
          .whereRef('oldest.thread_id', '=', 'threads.id')
          .orderBy('oldest.created_at')
          .orderBy('oldest.id')
          .limit(1),
      ),
    )
    .select(['messages.id', 'messages.thread_id', 'messages.created_at', 'messages.subject'])
    .select(({ selectFrom }) =>
      selectFrom('messages as received')
        .select('received.category')
        .whereRef('received.thread_id', '=', 'threads.id')
        .where('received.direction', '=', 'inbound')
        .orderBy('received.created_at', 'desc')
        .orderBy('received.id', 'desc')
        .limit(1)
        .as('category'),
    )
    .where('threads.id', 'in', threadIds)
    .execute()
}

/** Selects messages oldest first. */
function selectNewest(db: ReadDb, threadIds: readonly string[]) {
  const oldest = (column: 'created_at' | 'id') => sql`(
    select ${sql.ref(`newest.${column}`)} from messages as newest where newest.thread_id = threads.id
    order by newest.created_at desc, newest.id desc limit 1 offset ${sql.lit(SUMMED_UP_MESSAGES_MAX - 1)})`
  return db.read
    .selectFrom('threads')
    .innerJoin('messages', 'messages.thread_id', 'threads.id')
    .select([
      'messages.id',
      'messages.thread_id',
      'messages.created_at',
      'messages.direction',
      'messages.from_addr',
      'messages.to_addr',
      'messages.to_addrs',
      // Only sent messages need their Cc field; in received mail, strangers choose its length.
      sql<string>`case when messages.direction = 'outbound' then messages.cc else '[]' end`.as(
        'cc',
      ),
    ])
    .where('threads.id', 'in', threadIds)
    .where(
      sql<boolean>`(messages.created_at, messages.id) >= (
        coalesce(${oldest('created_at')}, ${sql.lit(-Number.MAX_SAFE_INTEGER)}), coalesce(${oldest('id')}, ''))`,
    )
    .orderBy('messages.created_at')
    .orderBy('messages.id')
    .execute()
}

function selectTexts(db: ReadDb, messageIds: readonly string[]) {
  const beginning = (column: 'body_text' | 'extracted_text') =>
    sql<string>`substr(case when long_bodies.raw_id is null then ${sql.ref(`messages.${column}`)}
      else ${sql.ref(`long_bodies.${column}`)} end, 1, ${sql.lit(SNIPPET_SOURCE_LENGTH)})`.as(
      column,
    )
  return db.read
    .selectFrom('messages')
    .leftJoin('long_bodies', 'long_bodies.raw_id', 'messages.raw_id')
    .select(['messages.thread_id', 'messages.defects'])
    .select([beginning('body_text'), beginning('extracted_text')])
    .where('messages.id', 'in', messageIds)
    .execute()
}

type Correspondence = {
  direction: string
  from_addr: string
  to_addr: string
  /** The recipients of a sent message as a JSON list. Without it, `to_addr` is used. */
  to_addrs?: string | null
  cc: string
}

/** The limit is part of the API. */
const PARTICIPANTS_MAX = 10
/** The limit is in code points and part of the API. */
const THREAD_SNIPPET_LENGTH = 160
/** The limit is in UTF-16 units and includes invisible characters. */
const SNIPPET_SOURCE_LENGTH = 8_192

/** The limit is in code points. Strangers choose names, and every list shows them. */
const NAME_LENGTH_MAX = 100
/** RFC 5321 §4.5.3.1 allows 64 octets before the @ and 255 after it. */
const ADDRESS_LENGTH_MAX = 320

/** Lists each address once, newest first. The inbox is included only if it is alone. */
export function addParticipants(
  known: readonly Participant[],
  message: Correspondence,
): Participant[] {
  const byKey = new Map<string, Participant>()
  for (const participant of [...namedIn(message), ...known]) {
    const key = addressKey(participant.address)
    const newer = byKey.get(key)
    if (newer === undefined) byKey.set(key, { ...participant })
    // A later message without a name does not remove the name.
    else newer.name ??= participant.name
  }
  if (byKey.size > 1) byKey.delete(addressKey(ownAddressOf(message)))
  return [...byKey.values()].slice(0, PARTICIPANTS_MAX)
}

/** Makes one line, or '' if the HTML shows other text, since a snippet cannot show a warning. */
export function snippetOf(text: {
  body_text: string
  extracted_text?: string | null
  defects?: string
}): string {
  const { body_text: whole, extracted_text: own, defects = '[]' } = text
  if (defects !== '[]' && (JSON.parse(defects) as Defect[]).includes('unsaid-text')) return ''
  return onOneLine(own ?? whole, THREAD_SNIPPET_LENGTH) || onOneLine(whole, THREAD_SNIPPET_LENGTH)
}

function ownAddressOf({ direction, from_addr, to_addr }: Correspondence): string {
  return direction === 'inbound' ? to_addr : (parseAddressList(from_addr)[0]?.address ?? from_addr)
}

function namedIn(message: Correspondence): Participant[] {
  const { direction, from_addr, to_addr, to_addrs = null, cc } = message
  const to: string[] = to_addrs === null ? [to_addr] : JSON.parse(to_addrs)
  const fields = direction === 'inbound' ? [from_addr] : [...to, ...(JSON.parse(cc) as string[])]
  return fields.map(readParticipant).filter(({ address }) => address !== '')
}

function readParticipant(field: string): Participant {
  // Text that is not a mailbox, such as a reverse-path, is used as the address.
  const { name, address } = parseAddressList(field)[0] ?? { name: '', address: field }
  return {
    name: onOneLine(name, NAME_LENGTH_MAX) || null,
    address: onOneLine(address, ADDRESS_LENGTH_MAX),
  }
}

function onOneLine(text: string, lengthMax: number): string {
  const beginning = 4 * lengthMax
  let line = joinLines(text.slice(0, beginning))
  // A code point has at most two units, and the next characters may turn out to be invisible.
  const isEnough = text.length <= beginning || line.length >= 3 * lengthMax
  if (!isEnough) line = joinLines(text.slice(0, SNIPPET_SOURCE_LENGTH))
  if (line.length <= lengthMax) return line
  const start = line.slice(0, 2 * lengthMax)
  if (!SURROGATE.test(start)) return start.slice(0, lengthMax).trimEnd()
  return Array.from(start).slice(0, lengthMax).join('').trimEnd()
}

function joinLines(text: string): string {
  const whole = text.replace(/[\ud800-\udbff]$/, '')
  const seen = stripInvisible(whole, new RemovalTally()).toWellFormed()
  return seen.replace(WIDE_SPACE, ' ').trim()
}

const SURROGATE = /[\ud800-\udfff]/
const WIDE_SPACE = /\s{2,}|[^\S ]/g
