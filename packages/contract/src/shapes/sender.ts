// Who may write to the inboxes of an account, and the mail that was kept out.

import { type Static, Type } from '#schema.ts'
import { deliveryRoles, quarantineReasons, senderRuleTypes } from '#vocabulary.ts'
import { Authentication } from './message.ts'
import { line, nullableText, oneOf, text, time } from './text.ts'

const VALUE_LENGTH_MAX = 320
const ID_LENGTH_MAX = 255

const type = oneOf(
  senderRuleTypes,
  'Whether mail from the sender is accepted (allow) or quarantined (block).',
)

export const SenderRule = Type.Object(
  {
    id: text('Assigned by the service.'),
    type,
    value: text(
      'An address or a domain in lower case, the domain in A-labels. A domain includes its subdomains.',
    ),
    podId: nullableText(
      'The pod that it is limited to; of a rule for one inbox, the pod of that inbox; null for all of the account.',
    ),
    inboxId: nullableText('The inbox that the rule applies to; null for all.'),
    requireVerified: Type.Boolean({
      description:
        'Of an allow rule: whether it holds only for mail whose authentication.verifiedFrom is true. False of a block rule, which keeps out whoever claims to be the sender.',
    }),
    createdAt: time('When the rule was made.'),
  },
  { description: 'A rule for mail from an address or a domain.' },
)
export type SenderRule = Static<typeof SenderRule>

export const CreateSenderRule = Type.Object(
  {
    type,
    value: line({
      maxLength: VALUE_LENGTH_MAX,
      description:
        'One address, also as Name <address>, or a domain that is no public suffix. A domain covers its subdomains.',
    }),
    podId: Type.Optional(
      line({
        maxLength: ID_LENGTH_MAX,
        description: 'Id or clientId of the pod that the rule applies to.',
      }),
    ),
    inboxId: Type.Optional(
      line({
        maxLength: ID_LENGTH_MAX,
        description: 'Id of the inbox that it is limited to, in that pod where podId is given.',
      }),
    ),
    requireVerified: Type.Optional(
      Type.Boolean({
        description:
          'For allow rules only. If true (the default), mail must prove its sender; false also accepts mail that only claims to be from the sender.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CreateSenderRule = Static<typeof CreateSenderRule>

export const QuarantinedMessage = Type.Object(
  {
    id: text('Assigned by the service; the message gets one of its own when it is released.'),
    inboxId: text('The inbox that it was for.'),
    podId: text('The pod of that inbox.'),
    fromAddr: text('The sender as the message names it, "Name <address>" or the bare address.'),
    toAddr: text('The address of the inbox.'),
    deliveryRole: oneOf(deliveryRoles, 'The cc role means that the inbox was copied.'),
    subject: text('Empty when the message has none.'),
    reason: oneOf(
      quarantineReasons,
      'Why the message was quarantined: a rule blocks its sender, no rule allows it, or a rule allows only verified mail.',
    ),
    ruleId: nullableText(
      'The rule that blocked its sender, which may be deleted by now; null where none allowed it.',
    ),
    authentication: Type.Union([Authentication, Type.Null()], {
      description: 'SPF, DKIM and DMARC results on arrival.',
    }),
    createdAt: time('When it arrived.'),
    expiresAt: time('When the message is deleted permanently.'),
  },
  { description: 'A quarantined message.' },
)
export type QuarantinedMessage = Static<typeof QuarantinedMessage>
