// Custom domains and the DNS records they need.

import type { Operation } from './operation.ts'
import { listOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { nullableText, nullableTime, oneOf, text, time } from './text.ts'
import { dnsRecordPurposes, dnsRecordStatuses, domainStatuses } from './vocabulary.ts'

export const DomainRecord = Type.Object(
  {
    type: oneOf(['MX', 'TXT'], 'The type of the record.'),
    name: text('The full record name, without a trailing dot.'),
    value: text(
      'The required value; for TXT, the complete text, even if it must be split into several strings.',
    ),
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 65_535,
        description: 'The preference; MX records only.',
      }),
    ),
    purpose: oneOf(
      dnsRecordPurposes,
      'Purpose of the record: `ownership` proves that you control the domain, `mx` routes its mail here, `spf` and `dkim` authenticate mail sent from here, and `dmarc` publishes how receivers should treat mail that fails both.',
    ),
    required: Type.Boolean({
      description: 'Whether verification requires this record; all other records are recommended.',
    }),
    status: oneOf(
      dnsRecordStatuses,
      'The result of the last check: the record is missing, has a wrong value, or is correct.',
    ),
    found: Type.Array(Type.String(), {
      description: 'The records found at the last check.',
    }),
    hint: nullableText('The change to make; null if the record is correct.'),
  },
  { description: 'A DNS record of a custom domain: required value and last check.' },
)
export type DomainRecord = Static<typeof DomainRecord>

export const Domain = Type.Object(
  {
    id: text('The id.'),
    domain: text('The name in lower-case A-labels: `xn--mnchen-3ya.example`.'),
    podId: nullableText('The only pod that may use the domain; null for all pods.'),
    status: oneOf(
      domainStatuses,
      'The status: `pending` until the required DNS records are found, then `verified`. `degraded` when a later check fails; mail still flows. `failed` after 72 hours of `degraded` or 14 days of `pending`: no mail is sent from the domain and no inbox can be created on it until it is verified again.',
    ),
    subdomainsEnabled: Type.Boolean({
      description:
        'Whether mail for all subdomains is received too. This requires the MX record with the purpose subdomains.',
    }),
    catchAllInboxId: nullableText(
      'The inbox that receives mail for unknown addresses of the domain; null to refuse such mail.',
    ),
    records: Type.Array(DomainRecord, { description: 'The records to publish in DNS.' }),
    createdAt: time('When the domain was added.'),
    verifiedAt: nullableTime('When the domain was last verified; null if never.'),
    lastCheckedAt: nullableTime('When DNS last answered every query of a check; null if never.'),
  },
  { description: 'Your own domain for inbox addresses.' },
)
export type Domain = Static<typeof Domain>

const options = {
  subdomainsEnabled: Type.Optional(
    Type.Boolean({
      description: 'Whether to receive mail for all subdomains, such as any.example.com.',
    }),
  ),
  catchAllInboxId: Type.Optional(
    nullableText(
      'An inbox of the account, on any domain, that receives mail for unknown addresses; null for none. If the domain belongs to one pod, the inbox must be in it.',
    ),
  ),
}

// An invalid name has its own error code (invalid_domain), so the schema only requires text.
const CreateDomain = Type.Object(
  {
    domain: text('A name under a public suffix that you can publish DNS records for.'),
    podId: Type.Optional(
      nullableText('Id or clientId of the only pod that may use the domain; all pods if omitted.'),
    ),
    ...options,
  },
  { additionalProperties: false },
)

const UpdateDomain = Type.Object(
  {
    podId: Type.Optional(
      nullableText('Id or clientId of the only pod that may use the domain; null for all pods.'),
    ),
    ...options,
  },
  { additionalProperties: false },
)

const parameters = { id: 'The id of a domain.' } as const

export const domainOperations = {
  'domains.create': {
    method: 'POST',
    path: '/v1/domains',
    tag: 'Domains',
    summary: 'Add a domain.',
    notes:
      'The response lists the DNS records to publish. Several accounts may add the same domain; the first one to verify it owns it. A failed domain passes to the next account that verifies it. DKIM keys are generated for one domain at a time; when 100 domains of the account are waiting for their keys, the response is rate_limit_exceeded.',
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
          'Only domains assigned to the pod with this id or clientId. For an unknown pod, the list is empty.',
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
      'Checks the DNS records now. The service also checks every 6 hours, and every 10 minutes during the first day of a domain. The status changes only when a second lookup confirms the first. If DNS does not answer, nothing changes, and the hint of the record reports it. Concurrent requests for one domain share a check. At most four checks run per account; when 16 more are waiting, the response is rate_limit_exceeded.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 200, description: 'The updated domain.', schema: Domain },
    errors: ['domain_taken'],
  },
  'domains.update': {
    method: 'PATCH',
    path: '/v1/domains/{id}',
    tag: 'Domains',
    summary: 'Change a domain.',
    notes:
      'Assigns the domain to one pod or to all, and selects the mail it receives. Omitted fields stay unchanged. Mail to an inbox address goes to that inbox; with subdomainsEnabled, name@any.example.com reaches the inbox name@example.com. All other mail for the domain goes to catchAllInboxId, except for postmaster, abuse and return paths. Deleting that inbox sets catchAllInboxId to null.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    body: UpdateDomain,
    success: { status: 200, description: 'The updated domain.', schema: Domain },
    errors: ['invalid_pod', 'domain_in_use'],
  },
  'domains.delete': {
    method: 'DELETE',
    path: '/v1/domains/{id}',
    tag: 'Domains',
    summary: 'Delete a domain.',
    notes:
      'The domain must not have inboxes. Its DKIM keys are deleted, and mail for it is refused from now on.',
    auth: 'key',
    isRateLimited: true,
    parameters,
    success: { status: 204, description: 'The domain was deleted.' },
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
