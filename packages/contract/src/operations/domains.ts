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
    summary: 'Add a domain.',
    notes:
      'The response lists the DNS records to publish. Several accounts may add the same domain; the first one to verify it owns it. A failed domain goes to the next account that verifies it. DKIM keys are generated for one domain at a time; when 100 domains of the account are waiting for their keys, the response is rate_limit_exceeded.',
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
    summary: 'List domains.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      podId: Type.Optional(
        text(
          'Only domains assigned to the pod with this id or clientId. An unknown pod gives an empty list.',
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
    summary: 'Get a domain with its DNS records.',
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
    summary: 'Verify a domain.',
    notes:
      'Checks the DNS records now. The service also checks every 6 hours, and every 10 minutes during the first day of a domain. The status changes only when a second lookup confirms the first. If DNS does not answer, nothing changes and the hint of the record says so. Concurrent requests for one domain share a check. At most four checks run per account; when 16 more are waiting, the response is rate_limit_exceeded.',
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
    summary: 'Assign a domain to one pod or to all.',
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
    summary: 'Delete a domain.',
    notes:
      'The domain must have no inboxes. Its DKIM keys are deleted, and mail for it is refused from now on.',
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
    summary: 'Download the DNS records as a zone file.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: {
      status: 200,
      description: 'A zone file in BIND format (RFC 1035) with absolute names.',
      mediaType: 'text/plain',
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
