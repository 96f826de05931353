// Operations on the sandbox, for trying the service out without other mail servers.

import { Type } from '#schema.ts'
import { listOf, PageQuery } from '#shapes/page.ts'
import { CapturedMessage, InboundMail, ReceivedMail } from '#shapes/sandbox.ts'
import { emailAddress } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

const ONLY_THEN =
  'Only while the service delivers to its sandbox; otherwise there is no such route.'

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
      description: 'A page of kept mail.',
      schema: listOf(CapturedMessage, 'A page of kept mail.'),
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
    notes: `The mail is described by fields, or given whole as message/rfc822. It may also go to the reversePath of mail that was kept, as a report about it does; then no message comes of it. ${ONLY_THEN}`,
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      from: Type.Optional(
        emailAddress('With message/rfc822: the envelope sender instead of the From field’s.'),
      ),
      to: Type.Optional(
        Type.Array(emailAddress('One address, or Name <address>.'), {
          description:
            'Only with message/rfc822, repeatable: envelope recipients in place of those in the To and Cc fields.',
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
