// Operations on custom domains.

import { Type } from '#schema.ts'
import { CreateDomain, Domain, UpdateDomain } from '#shapes/domain.ts'
import { listOf, pageProperties } from '#shapes/page.ts'
import { text } from '#shapes/text.ts'
import type { Operation } from './operation.ts'

const parameters = { id: 'The id of a domain.' } as const

export const domainOperations = {
  'domains.create': {
    method: 'POST',
    path: '/v1/domains',
    tag: 'Domains',
    summary: 'Add a domain of your own.',
    notes:
      'The answer lists the DNS records to publish. Several accounts may add the same domain; it belongs to the first of them that verifies it. A domain that has failed belongs to whoever verifies it next. Its keys are made meanwhile, one domain after the other; rate_limit_exceeded when 100 of the account wait for theirs.',
    auth: 'key',
    isRateLimited: true,
    body: CreateDomain,
    success: { status: 201, description: 'The new domain, pending.', schema: Domain },
    errors: ['invalid_domain', 'invalid_pod', 'domain_taken', 'domain_limit_reached'],
  },
  'domains.list': {
    method: 'GET',
    path: '/v1/domains',
    tag: 'Domains',
    summary: 'List the domains of the account, newest first.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      podId: Type.Optional(
        text(
          'Id or clientId of a pod: only the domains scoped to it; an unknown one gives an empty list.',
        ),
      ),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of domains.',
      schema: listOf(Domain, 'A page of domains.'),
    },
    errors: [],
  },
  'domains.get': {
    method: 'GET',
    path: '/v1/domains/{id}',
    tag: 'Domains',
    summary: 'Read a domain with its records as they were at the last check.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The domain.', schema: Domain },
    errors: [],
  },
  'domains.verify': {
    method: 'POST',
    path: '/v1/domains/{id}/verify',
    tag: 'Domains',
    summary: 'Check a domain against DNS now.',
    notes:
      'The service does the same by itself every 6 hours, and every 10 minutes in the first day of a domain. Before the status changes DNS is asked once more, at once, and has to say the same. Where DNS does not answer, nothing changes, and the hint of the record says so. Requests for one domain at the same time share one check; of an account 4 are made at once, and rate_limit_exceeded is answered when 16 more wait.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The domain as it is now.', schema: Domain },
    errors: ['domain_taken'],
  },
  'domains.update': {
    method: 'PATCH',
    path: '/v1/domains/{id}',
    tag: 'Domains',
    summary: 'Give a domain to one pod, or to all.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateDomain,
    success: { status: 200, description: 'The domain as it is now.', schema: Domain },
    errors: ['invalid_pod', 'domain_in_use'],
  },
  'domains.delete': {
    method: 'DELETE',
    path: '/v1/domains/{id}',
    tag: 'Domains',
    summary: 'Delete a domain without inboxes, and its keys.',
    notes: 'Mail for it is refused from then on.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The domain is gone.' },
    errors: ['domain_not_empty'],
  },
  'domains.zoneFile': {
    method: 'GET',
    path: '/v1/domains/{id}/zone-file',
    tag: 'Domains',
    summary: 'Download the records of a domain as lines of a zone file.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: {
      status: 200,
      description: 'Lines in the format of BIND (RFC 1035), names absolute.',
      mediaType: 'text/plain',
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
