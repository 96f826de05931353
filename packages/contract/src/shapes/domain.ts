// Custom domains and the DNS records that they need.

import { type Static, Type } from '#schema.ts'
import { dnsRecordPurposes, dnsRecordStatuses, domainStatuses } from '#vocabulary.ts'
import { nullableText, nullableTime, oneOf, text, time } from './text.ts'

export const DomainRecord = Type.Object(
  {
    type: oneOf(['MX', 'TXT'], 'The type of the record.'),
    name: text('The full record name, without a trailing dot.'),
    value: text('The required value; for TXT the whole text, even if it needs several strings.'),
    priority: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 65_535, description: 'Of MX records only.' }),
    ),
    purpose: oneOf(
      dnsRecordPurposes,
      'Purpose of the record: `ownership` proves that you control the domain, `mx` routes its mail here, `spf` and `dkim` authenticate mail sent from here, and `dmarc` says what receivers do with mail that fails both.',
    ),
    required: Type.Boolean({
      description: 'True if verification needs this record; otherwise it is recommended.',
    }),
    status: oneOf(
      dnsRecordStatuses,
      'The result of the last check: no record, a wrong value, or the required value.',
    ),
    found: Type.Array(Type.String(), {
      description: 'The records found at the last check.',
    }),
    hint: nullableText('What to change; null if nothing.'),
  },
  { description: 'A DNS record of a custom domain: required value and last check.' },
)
export type DomainRecord = Static<typeof DomainRecord>

export const Domain = Type.Object(
  {
    id: text('Assigned by the service.'),
    domain: text('The name in lower-case A-labels: `xn--mnchen-3ya.example`.'),
    podId: nullableText('The only pod that may use the domain; null for all pods.'),
    status: oneOf(
      domainStatuses,
      'The status: `pending` until the required DNS records are found, then `verified`. `degraded` when a later check fails; mail still flows. `failed` after 72 hours of `degraded` or 14 days of `pending`: no mail is sent from the domain and no inbox can be created on it until it is verified again.',
    ),
    records: Type.Array(DomainRecord, { description: 'What to publish in DNS.' }),
    createdAt: time('When the domain was added.'),
    verifiedAt: nullableTime('When the domain was last verified; null if never.'),
    lastCheckedAt: nullableTime('When DNS last answered every query of a check; null if never.'),
  },
  { description: 'A domain of your own, for the addresses of inboxes.' },
)
export type Domain = Static<typeof Domain>

// An invalid name has its own error code (invalid_domain), so the schema only requires text.
export const CreateDomain = Type.Object(
  {
    domain: text('A name under a public suffix that you can publish DNS records for.'),
    podId: Type.Optional(
      nullableText('Id or clientId of the only pod that may use the domain; all pods if omitted.'),
    ),
  },
  { additionalProperties: false },
)
export type CreateDomain = Static<typeof CreateDomain>

export const UpdateDomain = Type.Object(
  {
    podId: nullableText(
      'Id or clientId of the only pod that may use the domain; null for all pods.',
    ),
  },
  { additionalProperties: false },
)
export type UpdateDomain = Static<typeof UpdateDomain>
