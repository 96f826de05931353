// Operations on messages and their attachments.

import { Type } from '#schema.ts'
import { LISTED_BODIES_NOTE, Message, VIEW_NOTES, ViewQuery } from '#shapes/message.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { SEARCH_NOTES, SearchResult, searchProperties } from '#shapes/search.ts'
import { oneOf, text } from '#shapes/text.ts'
import { imageModes, messageDirections } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a message.' } as const

export const messageOperations = {
  'messages.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/messages',
    tag: 'Messages',
    summary: 'List messages of an inbox.',
    notes: LISTED_BODIES_NOTE,
    auth: 'key',
    isRateLimited: true,
    parameters: { id: 'The id of an inbox.' },
    query: Type.Object({
      direction: Type.Optional(oneOf(messageDirections, 'Only received or only sent messages.')),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of messages.',
      schema: listOf(Message, 'A page of messages.'),
    },
    errors: [],
  },
  'messages.search': {
    method: 'GET',
    path: '/v1/search',
    tag: 'Messages',
    summary: 'Search the mail of all inboxes.',
    notes: `${SEARCH_NOTES} Across several inboxes, pages end after the first 1,000 matches.`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      ...searchProperties,
      inboxId: Type.Optional(text('Only this inbox; an unknown one gives an empty list.')),
      podId: Type.Optional(
        text(
          'Only the inboxes of this pod, by its id or clientId; an unknown one gives an empty list.',
        ),
      ),
      ...pageProperties,
    }),
    success: { status: 200, description: 'A page of matches.', schema: SearchResult },
    errors: [],
  },
  'messages.get': {
    method: 'GET',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary: 'Get a message.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The message.', schema: Message },
    errors: [],
  },
  'messages.raw': {
    method: 'GET',
    path: '/v1/messages/{id}/raw',
    tag: 'Messages',
    summary: 'Download the raw message.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: {
      status: 200,
      description: 'The message, byte for byte.',
      mediaType: 'message/rfc822',
    },
    errors: [],
  },
  'messages.view': {
    method: 'GET',
    path: '/v1/messages/{id}/view',
    tag: 'Messages',
    summary: 'View a message as text for a language model.',
    notes: VIEW_NOTES,
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: ViewQuery,
    success: {
      status: 200,
      description: 'A page of the view, in UTF-8.',
      mediaType: 'text/markdown',
      headers: ['X-View-Total-Chars', 'X-View-Next-Offset'],
    },
    errors: [],
  },
  'messages.html': {
    method: 'GET',
    path: '/v1/messages/{id}/html',
    tag: 'Messages',
    summary: 'Render a message as safe HTML.',
    notes:
      'For display in a sandboxed frame. Scripts, forms and other active content are removed and styles are kept; a message without HTML is rendered from its text. The page loads nothing from other hosts: remote images are removed or, with images=show, fetched through this service. The header X-Blocked-Images counts the removed ones. Links open in a new window where the frame allows it.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: Type.Object({
      images: Type.Optional(
        oneOf(
          imageModes,
          'Removes remote images (block), or loads them through this service (show).',
        ),
      ),
    }),
    success: { status: 200, description: 'One page of HTML.', mediaType: 'text/html' },
    errors: [],
  },
  'messages.image': {
    method: 'GET',
    path: '/v1/messages/{id}/image',
    tag: 'Messages',
    summary: 'Fetch a remote image of a message.',
    notes:
      'Use the URLs in the page that messages.html returns with images=show; they are signed and expire after 15 minutes. PNG, JPEG, GIF, WebP, AVIF, BMP and ICO up to 5 MiB are served.',
    auth: 'signature',
    isRateLimited: false,
    parameters,
    query: Type.Object({
      url: Type.Optional(text('Where the image is.')),
      expires: Type.Optional(text('Part of a signed URL: when it expires.')),
      signature: Type.Optional(text('Part of a signed URL: its signature.')),
    }),
    success: {
      status: 200,
      description: 'The image; its media type is detected from its content.',
      mediaType: 'image/*',
    },
    errors: ['invalid_signature', 'rate_limit_exceeded', 'image_unavailable'],
  },
  'attachments.get': {
    method: 'GET',
    path: '/v1/attachments/{messageId}/{filename}',
    tag: 'Attachments',
    summary: 'Download an attachment.',
    notes:
      'Use an API key, or the signed url of the attachment without one. Range requests are supported.',
    auth: 'key-or-signature',
    isRateLimited: true,
    parameters: {
      messageId: 'The id of a message.',
      filename: 'The filename of the attachment entry.',
    },
    query: Type.Object({
      expires: Type.Optional(text('Part of a signed URL: when it expires.')),
      signature: Type.Optional(text('Part of a signed URL: its signature.')),
    }),
    success: {
      status: 200,
      description: 'The content, with the attachment’s own content type.',
      mediaType: '*/*',
      isRanged: true,
    },
    errors: ['invalid_signature', 'range_not_satisfiable'],
  },
} as const satisfies Record<string, Operation>
