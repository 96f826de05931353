// Reviews: mail that a policy holds until an approver decides.

import { ErrorBody } from './error.ts'
import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import {
  BODY_LENGTH_MAX,
  copied,
  HIDDEN,
  HoldReason,
  HTML_LENGTH_MAX,
  RECIPIENTS_MAX,
  SUBJECT_LENGTH_MAX,
} from './sending.ts'
import {
  count,
  line,
  mailboxes,
  nullableLine,
  nullableText,
  nullableTime,
  oneOf,
  TRIMMED,
  text,
  time,
} from './text.ts'
import { ThreadMessages } from './threads.ts'
import { bodyFormats, reviewFields, reviewStatuses } from './vocabulary.ts'

const REASON_LENGTH_MAX = 1_000
const DIGEST_LENGTH_MAX = 200
const APPROVED_AT_ONCE_MAX = 50
const COMMENT_LENGTH_MAX = 2_000
const REMOVED_FILES_MAX = 100
const FILENAME_LENGTH_MAX = 1_000
export const REVIEW_EDITS_MAX = 20
export const REVIEW_COMMENTS_MAX = 100
const ID_LENGTH_MAX = 100

const addresses = (description: string) => Type.Array(Type.String(), { description })

const reviewProperties = {
  id: text('The id.'),
  status: oneOf(reviewStatuses, 'A message is sent only once its review is approved.'),
  inboxId: text('The inbox that is to send the message.'),
  threadId: text('The thread of the message.'),
  messageId: text('The held message.'),
  from: text('The sender.'),
  to: addresses('The recipients.'),
  cc: addresses('Copied recipients.'),
  bcc: addresses('Hidden recipients.'),
  subject: text('The subject of the message.'),
  reasons: Type.Array(HoldReason, { description: 'Why the message is held.' }),
  digest: text(
    'SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:". An approval must contain it.',
  ),
  equalCount: count(
    'Number of equal pending reviews, including this one: their messages differ only in their threads. Always 1 for a decided review.',
  ),
  equal: Type.Array(
    Type.Object({
      id: text('The id of the review.'),
      digest: text('The digest of the review.'),
      messageId: text('The message of the review.'),
    }),
    { description: 'The other equal reviews, newest first, up to 100.' },
  ),
  isMessageDeleted: Type.Boolean({
    description:
      'Whether the message has since been removed. Approvers can read the review, without files, for 90 days after its decision.',
  }),
  createdAt: time('When the message was held.'),
  expiresAt: time('When the message is rejected without a decision.'),
  decidedAt: nullableTime('When the review was decided; null while pending.'),
  decidedBy: nullableText('The id of the approver who decided; null for none.'),
  decidedReason: nullableText(
    'The comment of the approver, cancelled if the sender cancelled it, or message_deleted.',
  ),
}

export const Review = Type.Object(reviewProperties, {
  description: 'A message that is held until an approver decides.',
})
export type Review = Static<typeof Review>

export const ReviewContent = Type.Object(
  {
    inboxId: text('The inbox that sends the message.'),
    from: text('The sender.'),
    to: addresses('The recipients, with their names.'),
    cc: addresses('Copied recipients, like to.'),
    bcc: addresses('Hidden recipients.'),
    replyTo: nullableText('The Reply-To address, with its name; null if replies go to the sender.'),
    subject: text('The subject.'),
    bodyText: text('The text including the quote.'),
    bodyHtml: text('The HTML including the quote; empty for none.'),
    threadId: text('The thread.'),
    inReplyTo: nullableText('The Message-ID of the original message.'),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Additional header fields by name.',
    }),
    attachments: Type.Array(
      Type.Object({
        filename: text('The name of the file.'),
        contentType: text('The media type of the file, with its parameters.'),
        sha256: text('SHA-256 in hexadecimal of the content.'),
        contentId: nullableText(
          'The identifier with which the HTML refers to the file as "cid:", if any.',
        ),
      }),
      { description: 'The attached files in order.' },
    ),
    sendAt: nullableTime('The message is not sent before this time; null if it is not scheduled.'),
    unsubscribe: Type.Boolean({ description: 'Whether the message has an unsubscribe link.' }),
    isAutomatic: Type.Boolean({
      description: 'Whether the message is marked as sent by a program.',
    }),
  },
  {
    description:
      'The exact content to be sent. The digest is the SHA-256 of this object in canonical JSON (RFC 8785), prefixed with "v2:".',
  },
)
export type ReviewContent = Static<typeof ReviewContent>

export const ReviewDisplay = Type.Object(
  {
    isWhole: Type.Boolean({
      description:
        'Whether the page shows all text of bodyHtml that a mail program may show. If false, read bodyHtml itself: the page shows part of it, or bodyText instead.',
    }),
    isHtmlWhole: Type.Boolean({ description: 'The former name of isWhole.' }),
    blockedImages: count('Remote images that the page omits.'),
    blockedStyles: count(
      'Remote style sheets and fonts that the page omits. Some mail programs load them.',
    ),
    hidden: nullableText(
      'Hidden content of bodyHtml by number and reason; null for none, or if it is unknown because no page can show bodyHtml.',
    ),
    invisible: count(
      'Invisible characters, such as fillers, tags, variation selectors and bidirectional controls, in all fields, names and files of the message. Joiners and selectors that form letters and emoji are not counted.',
    ),
    unshown: count(
      'Characters of bodyHtml that no page shows: comments, titles, attributes such as data-x, and the content of elements such as template. 0 if no page can show bodyHtml.',
    ),
  },
  {
    description:
      'Content that a person who looks at the rendered message may miss. Not part of the digest.',
  },
)
export type ReviewDisplay = Static<typeof ReviewDisplay>

export const ReviewVersion = Type.Object(
  {
    content: ReviewContent,
    digest: text('The digest of this version.'),
    changed: Type.Array(oneOf(reviewFields, 'A field.'), {
      description: 'The fields that the edit of this version changed.',
    }),
    editedBy: text('The id of the approver who edited this version.'),
    editedAt: time('When this version was replaced.'),
  },
  { description: 'A version of a held message that an edit has replaced.' },
)
export type ReviewVersion = Static<typeof ReviewVersion>

export const ReviewComment = Type.Object(
  {
    id: text('The id.'),
    author: Type.Object(
      {
        kind: oneOf(['key', 'approver'], 'Whether an API key or an approver wrote the comment.'),
        id: text('The id of the key or the approver.'),
        name: nullableText('The name at that time; null for a key without a name.'),
      },
      { description: 'Who wrote the comment.' },
    ),
    text: text('The comment, as plain text.'),
    createdAt: time('When the comment was written.'),
  },
  { description: 'A comment on a review.' },
)
export type ReviewComment = Static<typeof ReviewComment>

export const WholeReview = Type.Extended(
  Review,
  {
    content: ReviewContent,
    display: ReviewDisplay,
    thread: ThreadMessages,
    versions: Type.Array(ReviewVersion, {
      description:
        'The former versions of an edited message, oldest first, with up to 262,144 characters of each body.',
    }),
    comments: Type.Array(ReviewComment, { description: 'The comments, oldest first.' }),
  },
  {
    description:
      'A review with the complete message and the newest messages of its thread, including the held one.',
  },
)
export type WholeReview = Static<typeof WholeReview>

const digest = Type.String({
  minLength: 1,
  maxLength: DIGEST_LENGTH_MAX,
  description: 'The digest of the review as read.',
})

const Approve = Type.Object(
  {
    digest,
    allowRecipients: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Also add rules to the policy of the inbox that allow the recipients matched by newRecipients. Otherwise, they remain new after the approval.',
      }),
    ),
  },
  { additionalProperties: false },
)

const EditReview = Type.Object(
  {
    digest,
    to: Type.Optional(
      mailboxes('The new recipients, as for a send.', { maxItems: RECIPIENTS_MAX }),
    ),
    cc: Type.Optional(copied('The new copied recipients.')),
    bcc: Type.Optional(copied(HIDDEN)),
    subject: Type.Optional(
      line({
        minLength: 1,
        maxLength: SUBJECT_LENGTH_MAX,
        [TRIMMED]: true,
        description: 'The new subject. The subject of a reply can also be changed.',
      }),
    ),
    body: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: BODY_LENGTH_MAX,
        description:
          'The new body. It replaces the text, the HTML, the signature and the quote of a reply: repeat what should remain.',
      }),
    ),
    format: Type.Optional(
      oneOf(
        bodyFormats,
        'The format of body: see the same field of a send. By default markdown if the message was sent as Markdown, and otherwise auto. Requires body.',
      ),
    ),
    bodyHtml: Type.Optional(
      Type.String({
        maxLength: HTML_LENGTH_MAX,
        description: 'The new HTML, if it differs from body. Requires body.',
      }),
    ),
    removeAttachments: Type.Optional(
      Type.Array(
        Type.String({
          minLength: 1,
          maxLength: FILENAME_LENGTH_MAX,
          description: 'The filename of a file of the review.',
        }),
        { maxItems: REMOVED_FILES_MAX, description: 'The files to remove.' },
      ),
    ),
  },
  { additionalProperties: false },
)

const CommentOnReview = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: COMMENT_LENGTH_MAX,
      [TRIMMED]: true,
      description: 'The comment, as plain text. Leading and trailing white space is removed.',
    }),
  },
  { additionalProperties: false },
)

const Reject = Type.Object(
  {
    reason: Type.Optional(
      nullableLine({
        maxLength: REASON_LENGTH_MAX,
        description: 'The reason, which the agent can read.',
      }),
    ),
    includeEqual: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also reject the pending reviews that are equal to this one.',
      }),
    ),
  },
  { additionalProperties: false },
)

const ApproveMany = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          id: line({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'The id of a review.' }),
          digest,
        },
        { additionalProperties: false },
      ),
      {
        minItems: 1,
        maxItems: APPROVED_AT_ONCE_MAX,
        description: 'The reviews to approve, each decided separately.',
      },
    ),
  },
  { additionalProperties: false },
)

const ApprovedMany = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        id: text('The id of the review.'),
        status: count('The HTTP status, as if approved alone.'),
        review: Type.Union([Review, Type.Null()], {
          description: 'The approved review; null if it was refused.',
        }),
        error: Type.Union([ErrorBody, Type.Null()], {
          description:
            'The error that a single approval would return; null if the approval succeeded.',
        }),
      }),
      { description: 'One result per item, in the same order.' },
    ),
  },
  { description: 'The results of several approvals.' },
)

const parameters = { id: 'The id of a review.' } as const

const linked = { token: 'The secret part of the link in the mail to an approver.' } as const

export const reviewOperations = {
  'reviews.list': {
    method: 'GET',
    path: '/v1/reviews',
    tag: 'Reviews',
    summary: 'List reviews.',
    notes:
      'Newest first. Equal pending reviews form one entry: the newest review, which lists the rest in equal. Each review is decided with its own id and digest. Approvers also see reviews of removed messages.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: Type.Object({
      status: Type.Optional(oneOf(reviewStatuses, 'Only reviews with this status.')),
      inboxId: Type.Optional(text('Only reviews of this inbox.')),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of reviews.',
      schema: listOf(Review, 'A page of reviews.'),
    },
    errors: [],
  },
  'reviews.get': {
    method: 'GET',
    path: '/v1/reviews/{id}',
    tag: 'Reviews',
    summary: 'Get a review with the content to be sent and its thread.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The review.', schema: WholeReview },
    errors: [],
  },
  'reviews.approve': {
    method: 'POST',
    path: '/v1/reviews/{id}/approve',
    tag: 'Reviews',
    summary: 'Approve and send a held message.',
    notes:
      'The digest binds the decision to the content that was read: if it does not match the message, the response is review_changed with the current digest. Suppressions, limits, the inbox and its domain are checked again; if they refuse the message, that error is the response, and the review stays pending. The message is sent with the Message-ID from the response to the send.',
    auth: 'approver',
    isRateLimited: true,
    parameters,
    body: Approve,
    success: { status: 200, description: 'The approved review.', schema: Review },
    errors: [
      'review_changed',
      'review_decided',
      'recipient_rule_limit_reached',
      'invalid_domain',
      'recipient_suppressed',
      'thread_trashed',
      'loop_suspected',
      'cold_outreach_limit',
    ],
  },
  'reviews.approveMany': {
    method: 'POST',
    path: '/v1/reviews/approve',
    tag: 'Reviews',
    summary: 'Approve several held messages.',
    notes: 'Each review is decided separately, as by POST /v1/reviews/{id}/approve.',
    auth: 'approver',
    isRateLimited: true,
    body: ApproveMany,
    success: { status: 200, description: 'One result per review.', schema: ApprovedMany },
    errors: [],
  },
  'reviews.reject': {
    method: 'POST',
    path: '/v1/reviews/{id}/reject',
    tag: 'Reviews',
    summary: 'Reject a held message.',
    notes:
      'The message is not sent: it gets the status failed and the failureReason rejected, and the event message.rejected contains the reason.',
    auth: 'approver',
    isRateLimited: true,
    parameters,
    body: Reject,
    success: { status: 200, description: 'The rejected review.', schema: Review },
    errors: ['review_decided'],
  },
  'reviews.edit': {
    method: 'POST',
    path: '/v1/reviews/{id}/edit',
    tag: 'Reviews',
    summary: 'Edit a held message.',
    notes:
      'Omitted fields stay unchanged. The policy judges the edited message like a send: if it refuses the message, nothing changes. Otherwise the message stays held with new reasons and a new digest, which an approval must contain, and versions contains the former version. The event message.review_edited lists the changed fields. A review can be edited 20 times.',
    auth: 'approver',
    isRateLimited: true,
    parameters,
    body: EditReview,
    success: { status: 200, description: 'The edited review.', schema: WholeReview },
    errors: [
      'review_changed',
      'review_decided',
      'review_limit_reached',
      'recipient_suppressed',
      'recipient_not_permitted',
      'content_not_permitted',
      'payload_too_large',
    ],
  },
  'reviews.comment': {
    method: 'POST',
    path: '/v1/reviews/{id}/comments',
    tag: 'Reviews',
    summary: 'Comment on a review.',
    notes:
      'Approvers and API keys can comment, before and after the decision. The event message.review_commented reports the comment. A review has at most 100 comments.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters,
    body: CommentOnReview,
    success: { status: 201, description: 'The comment.', schema: ReviewComment },
    errors: ['review_limit_reached'],
  },
  'reviews.showLinked': {
    method: 'GET',
    path: '/reviews/{token}',
    tag: 'Reviews',
    summary: 'Show the page of a link in the mail to an approver.',
    notes: 'Opening the page changes nothing, because programs follow links in mail.',
    auth: 'none',
    isRateLimited: false,
    parameters: linked,
    success: {
      status: 200,
      description: 'A page with the message, its HTML, its text and its source, and two buttons.',
      mediaType: 'text/html',
    },
    errors: ['rate_limit_exceeded'],
  },
  'reviews.bodyLinked': {
    method: 'GET',
    path: '/reviews/{token}/body',
    tag: 'Reviews',
    summary: 'Show the message body for a link.',
    notes:
      'Shown in the frame of the review page: the body as its recipient will see it, without remote images. If the HTML cannot be shown, the page shows the text with a notice.',
    auth: 'none',
    isRateLimited: false,
    parameters: linked,
    success: { status: 200, description: 'A sandboxed page.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
  'reviews.approveLinked': {
    method: 'POST',
    path: '/reviews/{token}/approve',
    tag: 'Reviews',
    summary: 'Approve a held message by link.',
    notes:
      'The link is bound to the review, its digest and the approver, and works until the review is decided. The request body is ignored.',
    auth: 'none',
    isRateLimited: false,
    parameters: linked,
    success: { status: 200, description: 'A confirmation page.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
  'reviews.rejectLinked': {
    method: 'POST',
    path: '/reviews/{token}/reject',
    tag: 'Reviews',
    summary: 'Reject a held message by link.',
    notes:
      'Like the approval link, this link works until the review is decided. The request body is ignored.',
    auth: 'none',
    isRateLimited: false,
    parameters: linked,
    success: { status: 200, description: 'A confirmation page.', mediaType: 'text/html' },
    errors: ['rate_limit_exceeded'],
  },
} as const satisfies Record<string, Operation>
