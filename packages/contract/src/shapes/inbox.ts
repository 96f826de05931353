// Inboxes: email addresses, each in one pod.

import { type Static, Type } from '#schema.ts'
import {
  count,
  displayName,
  nullableDisplayName,
  nullableText,
  nullableTime,
  text,
  time,
} from './text.ts'

const DISPLAY_NAME_LENGTH_MAX = 200

const inboxProperties = {
  id: text('Assigned by the service.'),
  address: text('The email address.'),
  displayName: nullableText(
    'When set, mail from the inbox carries "Name <address>" in its From field.',
  ),
  podId: text('The pod that holds the inbox.'),
  webhookUrl: nullableText('Where events of this inbox are posted to; null for nowhere.'),
  unreadThreads: count('Threads whose isRead is false.'),
  lastMessageAt: nullableTime(
    'When the newest message was received or accepted for sending; null while there is none.',
  ),
  createdAt: time('When the inbox was created.'),
}

export const Inbox = Type.Object(inboxProperties, {
  description: 'An email address that belongs to exactly one pod.',
})
export type Inbox = Static<typeof Inbox>

export const ChangedInbox = Type.Object(
  {
    ...inboxProperties,
    webhookSecret: Type.Optional(
      text('The signing secret of webhookUrl. Only in the response that created it.'),
    ),
  },
  { description: 'The inbox, with webhookSecret if one was just created.' },
)
export type ChangedInbox = Static<typeof ChangedInbox>

// What a URL may be has a code of its own (invalid_webhook_url).
const webhookUrl = Type.Optional(
  nullableText(
    'URL for events of this inbox only: absolute, https, port 443 or 80. A changed URL keeps the secret; null removes the webhook.',
  ),
)

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
    webhookUrl,
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
    webhookUrl,
  },
  { additionalProperties: false },
)
export type UpdateInbox = Static<typeof UpdateInbox>
