// Operations on messages and their attachments.

import { Type } from '#schema.ts'
import { Message } from '#shapes/message.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { oneOf, text } from '#shapes/text.ts'
import { messageDirections } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a message.' } as const

export const messageOperations = {
  'messages.list': {
    method: 'GET',
    path: '/v1/inboxes/{id}/messages',
    tag: 'Messages',
    summary: 'List the messages of an inbox over all its threads, newest first.',
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
