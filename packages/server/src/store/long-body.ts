// Bodies too long to stand in every recipient's row: written once beside the raw message.

import { ROW_BODY_LENGTH_MAX } from '#base/limits.ts'
import type { MessageContent } from './message-statements.ts'
import type { Tx } from './tables.ts'

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
  if (!isLong(content)) return
  const { body_text, body_html, extracted_text } = content
  await tx.query
    .insertInto('long_bodies')
    .values({ raw_id: rawId, body_text, body_html, extracted_text })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

function isLong(content: MessageContent): boolean {
  return content.body_length > ROW_BODY_LENGTH_MAX
}
