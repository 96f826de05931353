// A message as a page for people. Images of its own come through the signed addresses of attachments,
// those of other hosts, where they are wanted, through ours.

import type { AddressOf } from '@mailroom/mail-reading/display/shown-html.ts'
import type { Clock } from '#platform/clock.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { attachmentUrl } from './attachment-url.ts'
import { encodeAll, imageUrl } from './image-url.ts'
import type { Message } from './message.ts'
import { getMessage } from './read-messages.ts'

export type ShownMessage = {
  readonly document: string
  /** Images of other hosts that were left out. */
  readonly blockedCount: number
}

/** What the key of signatures on images of other hosts is derived for. */
export const IMAGE_KEY_PURPOSE = 'message-images'

/** `not_found` where the account has no such message. */
export async function showMessage(
  deps: {
    db: Db
    parser: Parser
    clock: Clock
    urlKey: Uint8Array
    deriveKey: (purpose: string) => Uint8Array
  },
  input: {
    accountId: string
    messageId: string
    showsRemote: boolean
    /** Waited for before a long body is read. */
    beforeLong?: () => Promise<void>
  },
): Promise<ShownMessage> {
  const message = await getMessage(deps, input)
  const { bodyHtml: html, bodyText } = message
  // Loaded with the first message that is shown.
  const { shownBody } = await import('@mailroom/mail-reading/display/shown-html.ts')
  const shown =
    html === '' ? null : await deps.parser.show({ html, showsRemote: input.showsRemote })
  return {
    document: shownBody(shown, bodyText, addresses(deps, message)),
    blockedCount: shown?.blockedCount ?? 0,
  }
}

function addresses(
  {
    clock,
    urlKey,
    deriveKey,
  }: { clock: Clock; urlKey: Uint8Array; deriveKey: (purpose: string) => Uint8Array },
  { id: messageId, attachments }: Message,
): AddressOf {
  const nowMs = clock.now()
  const imageKey = deriveKey(IMAGE_KEY_PURPOSE)
  const parts = new Map(attachments.map((attachment) => [attachment.contentId, attachment]))
  return (image) => {
    if (image.kind === 'remote') return imageUrl(imageKey, { messageId, url: image.url, nowMs })
    const part = parts.get(image.contentId)
    if (part === undefined) return null
    // Without a host: the page is under the name that its reader knows the service by.
    const url = attachmentUrl({ publicUrl: '', urlKey }, { ...part, messageId, nowMs })
    return url.replace(/[!'()*]/g, encodeAll)
  }
}
