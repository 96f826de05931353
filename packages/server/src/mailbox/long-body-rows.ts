// Bodies too long to stand in every recipient's row: written once beside the raw message.

import type { NewRow, Tx } from '#schema/tables.ts'
import type { MessageContent } from './message-statements.ts'

/** Text and HTML longer than this, in UTF-16 units, are stored once beside the raw message. */
export const ROW_BODY_LENGTH_MAX = 64 * 1024

/** The content as it stands in a message's row: without its bodies where they are long. */
export function bodiesForRow(content: MessageContent): MessageContent {
  if (!isLong(content)) return content
  return { ...content, body_text: '', body_html: '', extracted_text: null }
}

/** Keeps the bodies of a raw message where they are long; those that were kept first stay. */
export async function insertLongBodies(
  tx: Tx,
  rawId: string,
  content: MessageContent,
): Promise<void> {
  const row = longBodyOf(rawId, content)
  if (row === null) return
  await tx.query
    .insertInto('long_bodies')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Null where the bodies stand in the rows of the messages. */
export function longBodyOf(rawId: string, content: MessageContent): NewRow<'long_bodies'> | null {
  if (!isLong(content)) return null
  const { body_text, body_html, extracted_text } = content
  return { raw_id: rawId, body_text, body_html, extracted_text }
}

function isLong(content: MessageContent): boolean {
  return content.body_length > ROW_BODY_LENGTH_MAX
}
