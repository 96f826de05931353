// Inboxes: email addresses, each in one pod.

import { type Static, Type } from '#schema.ts'
import { displayName, nullableDisplayName, nullableText, text, time } from './text.ts'

const DISPLAY_NAME_LENGTH_MAX = 200

export const Inbox = Type.Object(
  {
    id: text('Assigned by the service.'),
    address: text('The email address.'),
    displayName: nullableText(
      'When set, mail from the inbox carries "Name <address>" in its From field.',
    ),
    podId: text('The pod that holds the inbox.'),
    createdAt: time('When the inbox was made.'),
  },
  { description: 'An email address that belongs to exactly one pod.' },
)
export type Inbox = Static<typeof Inbox>

// The form of a mailbox name and the existence of a pod or domain have codes of their own
// (invalid_mailbox_name, invalid_pod, invalid_domain), so the shape asks for text alone.
export const CreateInbox = Type.Object(
  {
    mailboxName: Type.Optional(
      text(
        'Local part of the address: 3 to 30 lower-case letters, digits, dots and hyphens. Random when left out.',
      ),
    ),
    displayName: Type.Optional(
      displayName({ maxLength: DISPLAY_NAME_LENGTH_MAX, description: 'Name shown to recipients.' }),
    ),
    podId: Type.Optional(text('Id or clientId of a pod; the default pod when left out.')),
    domain: Type.Optional(
      text('A verified domain usable in the pod; the domain of the service when left out.'),
    ),
  },
  { additionalProperties: false },
)
export type CreateInbox = Static<typeof CreateInbox>

export const UpdateInbox = Type.Object(
  {
    displayName: Type.Optional(
      nullableDisplayName({
        maxLength: DISPLAY_NAME_LENGTH_MAX,
        description: 'Name shown to recipients; null clears it.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type UpdateInbox = Static<typeof UpdateInbox>
