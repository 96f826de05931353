// Custom domains and the DNS records that they need.

import { type Static, Type } from '#schema.ts'
import { dnsRecordPurposes, dnsRecordStatuses, domainStatuses } from '#vocabulary.ts'
import { nullableText, nullableTime, oneOf, text, time } from './text.ts'

export const DomainRecord = Type.Object(
  {
    type: oneOf(['MX', 'TXT'], 'The type of the record.'),
    name: text('Where it belongs: a whole name, without a dot at the end.'),
    value: text('What it has to hold; of TXT the whole text, however many strings it takes.'),
    priority: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 65_535, description: 'Of MX records only.' }),
    ),
    purpose: oneOf(
      dnsRecordPurposes,
      'What it is for: `ownership` shows that you have the domain, `mx` brings its mail here, `spf` and `dkim` make others believe what is sent from here, `dmarc` says what to do with the rest.',
    ),
    required: Type.Boolean({
      description: 'Whether the domain is verified only with it; the others are recommended.',
    }),
    status: oneOf(
      dnsRecordStatuses,
      'What DNS had at the last check: nothing, something else, or what it has to.',
    ),
    found: Type.Array(Type.String(), {
      description: 'What DNS answered at the last check, each record a text.',
    }),
    hint: nullableText('What to change; null where nothing is.'),
  },
  { description: 'A DNS record of a custom domain, as it should be and as it was found.' },
)
export type DomainRecord = Static<typeof DomainRecord>

export const Domain = Type.Object(
  {
    id: text('Assigned by the service.'),
    domain: text('The name in lower-case A-labels: `xn--mnchen-3ya.example`.'),
    podId: nullableText('The only pod whose inboxes may be on it; null for all.'),
    status: oneOf(
      domainStatuses,
      'How it stands: `pending` until DNS has what is required, `verified` then; `degraded` when a later check finds it wrong, while all goes on; `failed` after 72 hours of that, or 14 days of `pending`: nothing is sent from it and no inbox is made on it, until it is verified again.',
    ),
    records: Type.Array(DomainRecord, { description: 'What to publish in DNS.' }),
    createdAt: time('When the domain was made.'),
    verifiedAt: nullableTime('When it came to be verified, the last time; null if it never was.'),
    lastCheckedAt: nullableTime('When DNS last answered all that was asked; null if it never did.'),
  },
  { description: 'A domain of your own, for the addresses of inboxes.' },
)
export type Domain = Static<typeof Domain>

// What a domain's name may be has a code of its own (invalid_domain).
export const CreateDomain = Type.Object(
  {
    domain: text('A name under a public suffix that you can publish DNS records for.'),
    podId: Type.Optional(
      nullableText('Id or clientId of the only pod that may use it; all may when left out.'),
    ),
  },
  { additionalProperties: false },
)
export type CreateDomain = Static<typeof CreateDomain>

export const UpdateDomain = Type.Object(
  {
    podId: nullableText('Id or clientId of the only pod that may use it; null for all.'),
  },
  { additionalProperties: false },
)
export type UpdateDomain = Static<typeof UpdateDomain>
