// Operations on messages and their attachments.

import { Type } from '#schema.ts'
import { LISTED_BODIES_NOTE, Message } from '#shapes/message.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { SEARCH_NOTES, SearchResult, searchProperties } from '#shapes/search.ts'
import { oneOf, text } from '#shapes/text.ts'
import { VIEW_NOTES, ViewQuery } from '#shapes/view.ts'
import { imageModes, messageDirections } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a message.' } as const

export const messageOperations = {
  'messages.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/messages',
    tag: 'Messages',
    summary: 'List the messages of an inbox over all its threads, newest first.',
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
    notes: `${SEARCH_NOTES} Over several inboxes pages go up to the first 1,000 matches.`,
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
    success: { status: 200, description: 'A page of what was found.', schema: SearchResult },
    errors: [],
  },
  'messages.get': {
    method: 'GET',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary: 'Read a message.',
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
    summary: 'Download a message as it came over the wire.',
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
    summary: 'Read a message as text for a language model.',
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
    summary: 'Read a message as a page for people, to be shown in a sandboxed frame.',
    notes:
      'Without scripts, forms and anything else that runs or asks, its styles kept; of a message without HTML the text. Nothing in it is fetched from elsewhere: images of other hosts are left out or, with images=show, come through this service, and the header X-Blocked-Images tells how many were left out. Its links open in a new window where the frame allows that.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    query: Type.Object({
      images: Type.Optional(
        oneOf(imageModes, 'Whether images of other hosts are left out (block) or shown (show).'),
      ),
    }),
    success: { status: 200, description: 'One page of HTML.', mediaType: 'text/html' },
    errors: [],
  },
  'messages.image': {
    method: 'GET',
    path: '/v1/messages/{id}/image',
    tag: 'Messages',
    summary: 'Fetch an image of another host that a message shows.',
    notes:
      'Through the addresses that messages.html holds with images=show, good for 15 minutes; nobody else can make the service fetch anything. PNG, JPEG, GIF, WebP, AVIF, BMP and ICO up to 5 MiB.',
    auth: 'signature',
    isRateLimited: false,
    parameters,
    query: Type.Object({
      url: Type.Optional(text('Where the image is.')),
      expires: Type.Optional(text('Part of a signed url: when it stops working.')),
      signature: Type.Optional(text('Part of a signed url: proof that the service made it.')),
    }),
    success: {
      status: 200,
      description: 'The image, with the type that its octets say.',
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
      'With the bearer credential, or without it through the signed url of a message’s attachment entry. Range requests are served.',
    auth: 'key-or-signature',
    isRateLimited: true,
    parameters: {
      messageId: 'The id of a message.',
      filename: 'The filename of the attachment entry.',
    },
    query: Type.Object({
      expires: Type.Optional(text('Part of a signed url: when it stops working.')),
      signature: Type.Optional(text('Part of a signed url: proof that the service made it.')),
    }),
    success: {
      status: 200,
      description: 'The content, with the attachment’s own content type.',
      mediaType: 'application/octet-stream',
      isRanged: true,
    },
    errors: ['invalid_signature', 'range_not_satisfiable'],
  },
} as const satisfies Record<string, Operation>
