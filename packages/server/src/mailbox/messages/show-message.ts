// Renders a message as HTML. The service fetches remote images to hide the reader from their hosts.

import { imageType, isShownType } from '@mailroom/mail-reading/display/images.ts'
import type { AddressOf } from '@mailroom/mail-reading/display/shown-html.ts'
import {
  attachmentUrl,
  encodeAll,
  imageUrl,
  isSignatureGood,
  type Signature,
} from '#mailbox/attachments/signed-url.ts'
import { findMessageAccount, type Message } from '#mailbox/messages/store/messages.ts'
import { getMessage } from '#mailbox/read-mail.ts'
import type { Parser } from '#parser/parser.ts'
import type { HttpGet } from '#platform/egress/http-get.ts'
import { notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { Keys } from '#secrets/secrets.ts'
import type { Store } from '#store/store.ts'

/** Keys that sign the URLs of a message's images. */
type ImageKeys = Pick<Keys, 'urlKey' | 'deriveKey'>

const IMAGE_KEY_PURPOSE = 'message-images'

export async function showMessage(
  deps: Store & ImageKeys & { parser: Parser },
  input: {
    accountId: string
    messageId: string
    showsRemote: boolean
    /** If true, the page shows only the text that the HTML hides from readers. */
    showsHidden?: boolean
    beforeLong?: () => Promise<void>
  },
): Promise<{ document: string; blockedCount: number }> {
  const message = await getMessage(deps, input)
  const { bodyHtml: html, bodyText, subject } = message
  const { showsRemote, showsHidden = false } = input
  // Approvers may open an outbound message in any window.
  const isStill = message.direction === 'outbound'
  const { shownBody } = await import('@mailroom/mail-reading/display/shown-html.ts')
  const shown =
    html === '' && !showsHidden
      ? null
      : await deps.parser.show({
          html,
          showsRemote,
          isStill,
          ...(showsHidden && { hiddenOf: [subject, bodyText] }),
        })
  return {
    document: shownBody(shown, { html, text: bodyText }, addresses(deps, message)),
    blockedCount: shown?.blockedCount ?? 0,
  }
}

function addresses(
  { clock, urlKey, deriveKey }: Store & ImageKeys,
  { id: messageId, attachments }: Message,
): AddressOf {
  const nowMs = clock.now()
  const imageKey = deriveKey(IMAGE_KEY_PURPOSE)
  const parts = new Map(attachments.map((attachment) => [attachment.contentId, attachment]))
  return (image) => {
    if (image.kind === 'remote') return imageUrl(imageKey, { messageId, url: image.url, nowMs })
    const part = parts.get(image.contentId)
    if (part === undefined || !isShownType(part.contentType)) return null
    // The URL is relative, because the service may have several host names.
    const url = attachmentUrl({ publicUrl: () => '', urlKey }, { ...part, messageId, nowMs })
    return url.replace(/[!'()*]/g, encodeAll)
  }
}

/** Limits concurrent fetches, because each may use IMAGE_BYTES_MAX of memory. */
const IMAGES_AT_ONCE = 16
const IMAGES_PER_ACCOUNT_AT_ONCE = 8
/** The limit exceeds the number of images in any newsletter. */
const IMAGES_WAITING_MAX = 200

export function openImageFetches(): Semaphore {
  const text = `${IMAGES_WAITING_MAX} images of the account are already waiting to be fetched.`
  return new Semaphore({
    limit: IMAGES_AT_ONCE,
    limitPerKey: IMAGES_PER_ACCOUNT_AT_ONCE,
    waitingPerKeyMax: IMAGES_WAITING_MAX,
    refuse: () => problem('rate_limit_exceeded', text, { retryAfterSeconds: RETRY_AFTER_SECONDS }),
  })
}

export type MessageImages = Store & ImageKeys & { getImage: HttpGet; imageFetches: Semaphore }

/** Throws `invalid_signature`, `not_found` or `image_unavailable`. */
export async function fetchImage(
  deps: MessageImages,
  { messageId, url, ...signature }: { messageId: string; url: string } & Signature,
): Promise<{ contentType: string; content: Uint8Array }> {
  const key = deps.deriveKey(IMAGE_KEY_PURPOSE)
  const signed = { messageId, name: url, nowMs: deps.clock.now() }
  if (!isSignatureGood(key, signature, signed)) throw problem('invalid_signature')
  const accountId = await findMessageAccount(deps.db, messageId)
  if (accountId === null) throw notFound()
  const outcome = await deps.imageFetches.run({ key: accountId }, () => deps.getImage(url))
  if (outcome.kind === 'failed') throw problem('image_unavailable', FAILURE_TEXTS[outcome.error])
  const contentType = imageType(outcome.content)
  if (contentType === null) throw problem('image_unavailable', 'The host did not return an image.')
  return { contentType, content: outcome.content }
}

const FAILURE_TEXTS = {
  timeout: 'The image did not arrive in time.',
  forbidden_address: 'The address of the image is not public.',
  dns_failed: 'The host name of the image has no address in DNS.',
  connection_failed: 'The host of the image could not be reached.',
  tls_failed: 'The host of the image has no trusted certificate.',
  status: 'The host of the image refused the request.',
  redirect: 'The URL of the image redirects too often, or to a URL that cannot be fetched.',
  too_large: 'The image is too large.',
  protocol_error: 'The host of the image did not respond with valid HTTP.',
  cut: 'The service is shutting down.',
} as const
