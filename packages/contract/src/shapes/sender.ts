// Sender rules, quarantined mail, and suppressions.

import { type Static, Type } from '#schema.ts'
import { deliveryRoles, quarantineReasons, senderRuleTypes, suppressionTypes } from '#vocabulary.ts'
import { Authentication } from './message.ts'
import { emailAddress, line, nullableText, oneOf, text, time } from './text.ts'

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
      'The pod that the rule applies to; for a rule for one inbox, the pod of that inbox. Null for the whole account.',
    ),
    inboxId: nullableText('The inbox that the rule applies to; null for all.'),
    requireVerified: Type.Boolean({
      description:
        'For allow rules: whether the rule applies only to mail with a true authentication.verifiedFrom. Always false for block rules, which block everyone who claims to be the sender.',
    }),
    createdAt: time('When the rule was created.'),
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
        'One address, Name <address>, or a domain that is not a public suffix. A domain includes its subdomains.',
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
        description:
          'Id of the inbox that the rule applies to. With podId, the inbox must be in that pod.',
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
    id: text('Assigned by the service. A released message gets a new id.'),
    inboxId: text('The inbox that the message was sent to.'),
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
      'The rule that blocked the sender; it may have been deleted since. Null if no rule allowed the sender.',
    ),
    authentication: Type.Union([Authentication, Type.Null()], {
      description: 'SPF, DKIM and DMARC results on arrival.',
    }),
    createdAt: time('When the message arrived.'),
    expiresAt: time('When the message is deleted permanently.'),
  },
  { description: 'A quarantined message.' },
)
export type QuarantinedMessage = Static<typeof QuarantinedMessage>

export const Suppression = Type.Object(
  {
    id: text('Assigned by the service.'),
    address: text('The address; compared ignoring case.'),
    type: oneOf(
      suppressionTypes,
      'Why: mail bounced, the recipient complained or unsubscribed, or a client added it.',
    ),
    reason: nullableText('The reason, such as the response of a refusing server.'),
    createdAt: time('When the address was suppressed.'),
  },
  { description: 'An address that the account does not send to.' },
)
export type Suppression = Static<typeof Suppression>

export const CreateSuppression = Type.Object(
  { address: emailAddress('One address, or Name <address>.') },
  { additionalProperties: false },
)
export type CreateSuppression = Static<typeof CreateSuppression>
