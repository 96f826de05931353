import type { MailFilters } from '@mailroom/contract/mail-filters.ts'
import type { ViewQuery } from '@mailroom/contract/messages.ts'
import { PAGE_SIZE_MAX } from '@mailroom/contract/page.ts'
import type { Thread as ThreadShape, UpdateThread } from '@mailroom/contract/threads.ts'
import type { ViewPage } from '@mailroom/mail-reading/view/view-page.ts'
import { fileHeaders, planDownload } from '#http/download.ts'
import {
  type BinaryResponse,
  type HandlersOf,
  type SignedContext,
  untilGone,
} from '#http/handler.ts'
import { metadataFacets } from '#inboxes/store/metadata.ts'
import { isSignatureGood, type UrlSigner } from '#mailbox/attachments/signed-url.ts'
import { hashOfLeaseToken, isLive } from '#mailbox/claims/store/claim-token.ts'
import {
  assigneeFacet,
  labelFacet,
  readLabelsFilter,
  requireClearLabels,
  requireFewFacets,
} from '#mailbox/labels/store/facets.ts'
import { listLabels } from '#mailbox/labels/store/labels-in-use.ts'
import type { Extractions } from '#mailbox/messages/extractions.ts'
import {
  CUT_READ_LENGTH,
  presentListed,
  presentMessage,
} from '#mailbox/messages/present-message.ts'
import {
  findAttachment,
  type RawReader,
  readAttachment,
  readHeaders,
  readRaw,
} from '#mailbox/messages/read-content.ts'
import { fetchImage, type MessageImages, showMessage } from '#mailbox/messages/show-message.ts'
import { listMessages } from '#mailbox/messages/store/messages.ts'
import type { ViewOptions } from '#mailbox/messages/view-mail.ts'
import type { MailFilter } from '#mailbox/store/filters.ts'
import type { ThreadChange } from '#mailbox/threads/store/change-threads.ts'
import { listThreads, type ShownThread, type ThreadClaim } from '#mailbox/threads/store/threads.ts'
import type { Parser } from '#parser/parser.ts'
import type { Chance } from '#platform/chance.ts'
import { type Clock, INSTANT_RULE, parseInstant, presentTime } from '#platform/clock.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import type { Semaphore } from '#platform/semaphore.ts'
import type { QueueClock } from '#queue/queue-clock.ts'
import { threads } from '#store/nouns.ts'
import {
  filterMessagesOf,
  filterThreadsOf,
  getMessage,
  getThread,
  readThread,
  updateMessage,
  updateThread,
} from './read-mail.ts'

type Deps = RawReader &
  UrlSigner &
  MessageImages & {
    queueClock: QueueClock
    chance: Chance
    parser: Parser
    extractions: Extractions
    searchSlots: Semaphore
  }

type MessageHandlers = Omit<
  HandlersOf<'messages'>,
  | 'messages.search'
  | 'messages.deliveries'
  | 'messages.forward'
  | 'messages.rsvp'
  | 'messages.cancel'
  | 'messages.delete'
>

type ThreadHandlers = Omit<
  HandlersOf<'threads'>,
  | 'threads.claim'
  | 'threads.renewClaim'
  | 'threads.releaseClaim'
  | 'threads.delete'
  | 'threads.restore'
>

export function mailHandlers(
  deps: Deps,
): ThreadHandlers & MessageHandlers & Pick<HandlersOf<'attachments'>, 'attachments.get'> {
  return { ...threadHandlers(deps), ...messageHandlers(deps), ...attachmentHandlers(deps) }
}

function threadHandlers(deps: Deps): ThreadHandlers {
  return {
    'threads.list': async ({ path, query }, context) => {
      const { is_read: isRead = null, category = null, snoozed: isSnoozed = null } = query
      const { direction = null } = query
      const { trashed: isTrashed = false, labels, metadata, assignee, limit, offset } = query
      const { accountId } = context
      const facets = facetsOfQuery({ labels, metadata, assignee })
      const nowMs = deps.clock.now()
      const page = { inboxId: path.id, limit, offset }
      const list = { accountId, isRead, category, isTrashed, facets, isSnoozed, nowMs, ...page }
      const filter = filterOf(query) ?? (direction === null ? null : ANY_MAIL)
      const found =
        filter === null
          ? await listThreads(deps.db, list)
          : await filterThreadsOf(deps, { ...list, direction, filter }, untilGone(context))
      if (found === null) throw notFound()
      const { threads: shown, ...counted } = found
      return { data: shown.map((thread) => presentThread(thread, deps)), ...counted }
    },
    'threads.get': async ({ path }, { accountId }) =>
      presentThread(await getThread(deps, { accountId, threadId: path.id }), deps),
    'threads.update': async ({ path, body }, { accountId, headers }) => {
      const change = changeOf(body, deps.clock.now())
      const tokenHash = hashOfLeaseToken(headers['lease-token'])
      const asked = { accountId, threadId: path.id, change, tokenHash }
      return presentThread(await updateThread(deps, asked), deps)
    },
    'threads.labels': async ({ query }, { accountId }) => {
      const { inboxId = null, limit, offset } = query
      const labels = await listLabels(deps.db, { accountId, inboxId })
      const page = labels.slice(offset, offset + limit)
      return { data: page.map((label) => ({ label })), total: labels.length }
    },
    'threads.messages': async ({ path, query }, { accountId, takeSlot }) => {
      const { limit = null, offset = 0 } = query
      const page = { accountId, threadId: path.id, limit, offset }
      await takeSlot()
      const { thread, count, messages } = await readThread(deps, page)
      const shown = presentListed(messages, deps, deps.clock.now())
      return {
        threadId: thread.id,
        inboxId: thread.inboxId,
        subject: thread.subject,
        isRead: thread.isRead,
        data: count > PAGE_SIZE_MAX ? shown : await Array.fromAsync(shown),
      }
    },
    'threads.view': async ({ path, query }, { accountId, takeSlot }) => {
      await takeSlot('view')
      const { viewThread } = await import('#mailbox/messages/view-mail.ts')
      const asked = { ...viewOptions(query, accountId), threadId: path.id }
      return presentView(await viewThread(deps, asked))
    },
  }
}

function filterOf({
  from,
  to,
  subject,
  since,
  until,
  has_attachment,
}: MailFilters): MailFilter | null {
  const given = [from, to, subject, since, until, has_attachment]
  if (given.every((value) => value === undefined)) return null
  return {
    from: from ?? null,
    to: to ?? null,
    subject: subject ?? null,
    sinceMs: since === undefined ? null : Date.parse(since),
    untilMs: until === undefined ? null : Date.parse(until),
    hasAttachment: has_attachment ?? null,
  }
}

const ANY_MAIL: MailFilter = {
  from: null,
  to: null,
  subject: null,
  sinceMs: null,
  untilMs: null,
  hasAttachment: null,
}

/** The result omits a snooze or claim that has ended. */
export function presentThread(
  { claim, snoozedUntilMs, ...thread }: ShownThread,
  { clock, queueClock }: { clock: Clock; queueClock: QueueClock },
): ThreadShape {
  const isSnoozed = snoozedUntilMs !== null && snoozedUntilMs > clock.now()
  return {
    ...threads.present(thread),
    snoozedUntil: isSnoozed ? presentTime(snoozedUntilMs) : null,
    claim: claim !== null && isLive(claim.untilMs, queueClock.now()) ? presentClaim(claim) : null,
  }
}

function presentClaim({ owner, fence, expiresAtMs }: ThreadClaim): ThreadShape['claim'] {
  return { owner, fence, expiresAt: presentTime(expiresAtMs) }
}

type FacetsQuery = { labels?: string; metadata?: Record<string, string>; assignee?: string }

function facetsOfQuery({ labels, metadata = {}, assignee }: FacetsQuery): string[] {
  const facets = [
    ...readLabelsFilter(labels).map(labelFacet),
    ...(assignee === undefined ? [] : [assigneeFacet(assignee)]),
    ...metadataFacets(metadata),
  ]
  requireFewFacets('metadata', facets)
  return facets
}

function changeOf(body: UpdateThread, nowMs: number): ThreadChange {
  const { is_read: _, isRead: __, snoozedUntil, ...rest } = body
  const isRead = readStateOf(body)
  const change = {
    ...rest,
    ...(isRead !== undefined && { isRead }),
    ...(snoozedUntil !== undefined && { snoozedUntilMs: readSnooze(snoozedUntil, nowMs) }),
  }
  requireClearLabels(change)
  if (Object.values(change).some((value) => value !== undefined)) return change
  throw problem('bad_request', 'The request changes nothing.', {
    details: [{ path: 'is_read', message: 'is required, or another field of a thread' }],
  })
}

/** A time in the past ends the snooze. */
function readSnooze(snoozedUntil: string | null, nowMs: number): number | null {
  if (snoozedUntil === null) return null
  const untilMs = parseInstant(snoozedUntil)
  if (untilMs === null) throw wrongField('snoozedUntil', INSTANT_RULE)
  return untilMs > nowMs ? untilMs : null
}

function readStateOf({ is_read: isRead, isRead: alias }: UpdateThread): boolean | undefined {
  const wanted = isRead ?? alias
  if (alias === undefined || alias === wanted) return wanted
  throw problem('bad_request', 'The fields "is_read" and "isRead" differ.', {
    details: [{ path: 'isRead', message: 'must equal is_read if both are given' }],
  })
}

function messageHandlers(deps: Deps): MessageHandlers {
  return {
    'messages.list': async ({ path, query }, context) => {
      const { direction = null, category = null, limit, offset } = query
      const { accountId } = context
      const labels = readLabelsFilter(query.labels)
      const list = { accountId, inboxId: path.id, direction, category, labels, limit, offset }
      const filter = filterOf(query)
      await context.takeSlot()
      const found =
        filter === null
          ? await listMessages(deps.db, { ...list, bodyLengthMax: CUT_READ_LENGTH })
          : await filterMessagesOf(deps, { ...list, filter }, untilGone(context))
      if (found === null) throw notFound()
      const { messages, ...counted } = found
      const shown = presentListed(messages, deps, deps.clock.now())
      return { data: await Array.fromAsync(shown), ...counted }
    },
    'messages.get': async ({ path }, { accountId, takeSlot }) => {
      const asked = { accountId, messageId: path.id, beforeLong: takeSlot }
      const message = await getMessage(deps, asked)
      return presentMessage(message, deps, deps.clock.now())
    },
    'messages.update': async ({ path, body }, { accountId, headers }) => {
      requireClearLabels(body)
      if (body.addLabels === undefined && body.removeLabels === undefined) {
        throw wrongField('addLabels', 'is required, or removeLabels')
      }
      const tokenHash = hashOfLeaseToken(headers['lease-token'])
      const asked = { accountId, messageId: path.id, change: body, tokenHash }
      return presentMessage(await updateMessage(deps, asked), deps, deps.clock.now())
    },
    'messages.headers': ({ path }, { accountId }) =>
      readHeaders(deps, { accountId, messageId: path.id }),
    'messages.raw': async ({ path }, { accountId }) => ({
      headers: fileHeaders('message/rfc822', 'message.eml'),
      ...(await readRaw(deps, { accountId, messageId: path.id })),
    }),
    'messages.view': async ({ path, query }, { accountId, takeSlot }) => {
      await takeSlot('view')
      const { viewMessage } = await import('#mailbox/messages/view-mail.ts')
      const asked = { ...viewOptions(query, accountId), messageId: path.id }
      return presentView(await viewMessage(deps, asked))
    },
    'messages.html': async ({ path, query }, { accountId, takeSlot, headers }) => {
      const showsRemote = query.images === 'show'
      const showsHidden = query.text === 'hidden'
      const shows = { showsRemote, showsHidden, beforeLong: takeSlot }
      const asked = { accountId, messageId: path.id, ...shows }
      const { document, blockedCount } = await showMessage(deps, asked)
      return {
        headers: {
          ...MESSAGE_PAGE_HEADERS,
          ...(isOwnFrame(headers) && { 'content-security-policy': policyOfPage('own-frame') }),
          'x-blocked-images': String(blockedCount),
        },
        content: document,
      }
    },
    'messages.image': async ({ path, query }) => {
      const { url = '', expires, signature } = query
      const image = { messageId: path.id, url, expires, signature }
      const { content, contentType } = await fetchImage(deps, image)
      const length = String(content.length)
      const headers = { 'content-type': contentType, 'content-length': length }
      return { headers: { ...IMAGE_HEADERS, ...headers }, content }
    },
  }
}

function attachmentHandlers(deps: Deps): Pick<HandlersOf<'attachments'>, 'attachments.get'> {
  return {
    'attachments.get': async ({ path, query }, context) => {
      if (context.isSigned) {
        const { expires, signature } = query
        const { messageId, filename: name } = path
        const signed = { messageId, name, nowMs: deps.clock.now() }
        const isGood = isSignatureGood(deps.urlKey, { expires, signature }, signed)
        if (!isGood) throw problem('invalid_signature')
      }
      const answer = await download(deps, path, context)
      // Browsers send Sec-Fetch-Dest only over HTTPS and to localhost, so Accept decides.
      const isPicture = context.isSigned && /^image\//.test(String(context.headers.accept))
      return isPicture ? { ...answer, headers: embeddable(answer.headers) } : answer
    },
  }
}

/** The sandboxed page has no origin outside our own frames, so its images need this header. */
function embeddable(headers: BinaryResponse['headers']): BinaryResponse['headers'] {
  return { ...headers, 'cross-origin-resource-policy': 'cross-origin' }
}

async function download(
  deps: Deps,
  path: { messageId: string; filename: string },
  context: SignedContext,
): Promise<BinaryResponse> {
  const accountId = context.isSigned ? null : context.accountId
  const found = await findAttachment(deps, { accountId, ...path })
  const { messageId, attachment } = found
  let plan = planDownload({ ...attachment, messageId }, context.headers)
  if (plan.part === null || !context.wantsContent) return { ...plan, content: null }
  const { content, release } = await readAttachment(deps, found)
  if (content.length !== attachment.sizeBytes) {
    // If the parser changed since the attachment was listed, a range request may get all of it.
    plan = planDownload({ ...attachment, messageId, sizeBytes: content.length }, {})
  }
  return { ...plan, content: content.subarray(plan.part?.start, plan.part?.end), release }
}

/** Scripts on a page cannot set the Sec-Fetch headers. */
function isOwnFrame(headers: SignedContext['headers']): boolean {
  return headers['sec-fetch-dest'] === 'iframe' && headers['sec-fetch-site'] === 'same-origin'
}

/**
 * In our own frames, the page keeps its origin so that the parent page can read its height. The
 * origin grants no rights, because scripts are disabled.
 */
function policyOfPage(shownIn: 'anywhere' | 'own-frame'): string {
  const rights = `allow-popups allow-popups-to-escape-sandbox${shownIn === 'own-frame' ? ' allow-same-origin' : ''}`
  return `sandbox ${rights}; default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`
}

export const MESSAGE_PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': policyOfPage('anywhere'),
  'cache-control': 'private, no-store',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'x-dns-prefetch-control': 'off',
  'x-robots-tag': 'noindex, nofollow',
}

const IMAGE_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'",
  'content-disposition': 'inline',
  'cache-control': 'private, max-age=900',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'cross-origin',
}

function viewOptions(query: ViewQuery, accountId: string): ViewOptions {
  const { max_chars: maxChars, offset, links, unfold } = query
  return {
    accountId,
    maxChars,
    offset,
    hasFullLinks: links === 'full',
    isUnfolded: unfold === true,
  }
}

function presentView({ text, totalChars, nextOffset }: ViewPage): BinaryResponse {
  return {
    headers: {
      'content-type': 'text/markdown; charset=utf-8',
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
      'x-view-total-chars': String(totalChars),
      ...(nextOffset === null ? {} : { 'x-view-next-offset': String(nextOffset) }),
    },
    content: text,
  }
}
