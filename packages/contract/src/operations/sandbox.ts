// Operations on the sandbox, for trying the service out without other mail servers.

import { Type } from '#schema.ts'
import { listOf, PageQuery } from '#shapes/page.ts'
import { CapturedMessage, InboundMail, ReceivedMail } from '#shapes/sandbox.ts'
import { emailAddress } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

const ONLY_THEN = 'This route exists only while the service delivers to its sandbox.'

export const sandboxOperations = {
  'sandbox.list': {
    method: 'GET',
    path: '/v1/sandbox/messages',
    tag: 'Sandbox',
    summary: 'List captured mail.',
    notes: ONLY_THEN,
    auth: 'key',
    isRateLimited: true,
    query: PageQuery,
    isOfSandbox: true,
    success: {
      status: 200,
      description: 'A page of captured mail.',
      schema: listOf(CapturedMessage, 'A page of captured mail.'),
    },
    errors: ['not_found'],
  },
  'sandbox.clear': {
    method: 'DELETE',
    path: '/v1/sandbox/messages',
    tag: 'Sandbox',
    summary: 'Clear captured mail.',
    notes: ONLY_THEN,
    auth: 'key',
    isRateLimited: true,
    isOfSandbox: true,
    success: { status: 204, description: 'The captured mail is deleted; inboxes are unchanged.' },
    errors: ['not_found'],
  },
  'sandbox.receive': {
    method: 'POST',
    path: '/v1/sandbox/inbound',
    tag: 'Sandbox',
    summary: 'Simulate incoming mail.',
    notes: `Describe the mail with JSON fields, or send a complete message as message/rfc822. To simulate a delivery report, send it to the reversePath of captured mail; no inbox then receives a message. ${ONLY_THEN}`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      from: Type.Optional(
        emailAddress('Only with message/rfc822: the envelope sender; the From address if omitted.'),
      ),
      to: Type.Optional(
        Type.Array(emailAddress('One address, or Name <address>.'), {
          description:
            'Only with message/rfc822: the envelope recipients (repeat the parameter); the To and Cc addresses if omitted.',
        }),
      ),
    }),
    body: InboundMail,
    bodyMediaTypes: ['application/json', 'message/rfc822'],
    hasLargeBody: true,
    isOfSandbox: true,
    success: {
      status: 201,
      description: 'The messages that the inboxes received.',
      schema: ReceivedMail,
    },
    errors: ['not_found', 'delivery_pending'],
  },
} as const satisfies Record<string, Operation>
