// An image of another host that a message shows, fetched for its reader so that the host learns nothing
// of who reads it.

import { imageType } from '@mailroom/mail-reading/display/images.ts'
import type { Clock } from '#platform/clock.ts'
import type { HttpGet } from '#platform/egress/http-get.ts'
import { notFound, problem, RETRY_AFTER_SECONDS } from '#platform/problem.ts'
import { Semaphore } from '#platform/semaphore.ts'
import type { Db } from '#schema/tables.ts'
import { isImageUrlGood } from './image-url.ts'
import { findMessageAccount } from './message-account-rows.ts'
import { IMAGE_KEY_PURPOSE } from './show-message.ts'

/** Fetched by a process at once, and for one account: each may hold IMAGE_BYTES_MAX. */
const IMAGES_AT_ONCE = 16
const IMAGES_PER_ACCOUNT_AT_ONCE = 8
/** Of one account, until it is their turn: more than a newsletter has. */
const IMAGES_WAITING_MAX = 200

export type FetchedImage = { readonly contentType: string; readonly content: Uint8Array }

/** For all of a process: each image may take up to IMAGE_BYTES_MAX of its memory. */
export function openImageFetches(): Semaphore {
  const text = `${IMAGES_WAITING_MAX} images of the account are already waiting to be fetched.`
  return new Semaphore({
    limit: IMAGES_AT_ONCE,
    limitPerKey: IMAGES_PER_ACCOUNT_AT_ONCE,
    waitingPerKeyMax: IMAGES_WAITING_MAX,
    refuse: () => problem('rate_limit_exceeded', text, { retryAfterSeconds: RETRY_AFTER_SECONDS }),
  })
}

/**
 * `invalid_signature` for what the service did not sign or that is over, `not_found` once the message is
 * gone, `image_unavailable` when no image came of it.
 */
export async function fetchImage(
  deps: {
    db: Db
    clock: Clock
    deriveKey: (purpose: string) => Uint8Array
    getImage: HttpGet
    imageFetches: Semaphore
  },
  input: {
    messageId: string
    url: string | undefined
    expires: string | undefined
    signature: string | undefined
  },
): Promise<FetchedImage> {
  const { messageId, url = '' } = input
  const key = deps.deriveKey(IMAGE_KEY_PURPOSE)
  const isGood = isImageUrlGood(key, { ...input, url, nowMs: deps.clock.now() })
  if (!isGood) throw problem('invalid_signature')
  const accountId = await findMessageAccount(deps.db, messageId)
  if (accountId === null) throw notFound()
  const outcome = await deps.imageFetches.run({ key: accountId }, () => deps.getImage(url))
  if (outcome.kind === 'failed') throw problem('image_unavailable', WORDS[outcome.error])
  const contentType = imageType(outcome.content)
  if (contentType === null) throw problem('image_unavailable', 'The host did not return an image.')
  return { contentType, content: outcome.content }
}

const WORDS = {
  timeout: 'The image did not arrive in time.',
  forbidden_address: 'The address of the image is not public.',
  dns_failed: 'DNS has no address for the host of the image.',
  connection_failed: 'The host of the image could not be reached.',
  tls_failed: 'The host of the image has no trusted certificate.',
  status: 'The host of the image refused the request.',
  redirect: 'The URL of the image redirects too often, or to a URL that cannot be fetched.',
  too_large: 'The image is too large.',
  protocol_error: 'The host of the image did not respond with valid HTTP.',
  cut: 'The service is shutting down.',
} as const
