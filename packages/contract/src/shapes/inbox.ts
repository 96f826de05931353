// Inboxes: email addresses, each in one pod.

import { type Static, Type } from '#schema.ts'
import {
  CLIENT_ID_PATTERN,
  CLIENT_ID_RULE,
  count,
  displayName,
  line,
  nullableDisplayName,
  nullableLine,
  nullableText,
  nullableTime,
  RULE,
  text,
  time,
} from './text.ts'

const DISPLAY_NAME_LENGTH_MAX = 200

const inboxProperties = {
  id: text('Assigned by the service.'),
  address: text('The email address.'),
  displayName: nullableText(
    'The name in the From field of mail from the inbox; null for the bare address.',
  ),
  podId: text('The pod of the inbox.'),
  webhookUrl: nullableText(
    'The URL that events of this inbox are posted to; null without a webhook.',
  ),
  unreadThreads: count('Threads whose isRead is false.'),
  lastMessageAt: nullableTime(
    'When the newest message was received or accepted for sending; null without messages.',
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
      text('The signing secret of webhookUrl. It is only in the response that created it.'),
    ),
  },
  { description: 'The inbox, with webhookSecret if one was just created.' },
)
export type ChangedInbox = Static<typeof ChangedInbox>

// An invalid URL has its own error code (invalid_webhook_url), so the schema only requires text.
const webhookUrl = Type.Optional(
  nullableText(
    'URL for events of this inbox only: absolute, https, port 443 or 80. Changing the URL keeps the secret; null removes the webhook.',
  ),
)

// Invalid names, pods and domains have their own error codes (invalid_mailbox_name, invalid_pod,
// invalid_domain), so the schema only requires text.
export const CreateInbox = Type.Object(
  {
    mailboxName: Type.Optional(
      text(
        'Local part of the address: 3 to 30 lower-case letters, digits, dots and hyphens. Random if omitted.',
      ),
    ),
    displayName: Type.Optional(
      displayName({ maxLength: DISPLAY_NAME_LENGTH_MAX, description: 'Name shown to recipients.' }),
    ),
    podId: Type.Optional(text('Id or clientId of a pod; the default pod if omitted.')),
    domain: Type.Optional(
      text('A verified domain that the pod may use; the domain of the service if omitted.'),
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

const NAME_LENGTH_MAX = 255
const CLIENT_ID_LENGTH_MAX = 255

export const Pod = Type.Object(
  {
    id: text('Assigned by the service.'),
    clientId: nullableText('Chosen by the client; accepted wherever a pod id is accepted.'),
    name: nullableText('Display name.'),
    isDefault: Type.Boolean({ description: 'True only for the default pod of the account.' }),
    createdAt: time('When the pod was created.'),
  },
  { description: 'An isolated container of inboxes inside an account.' },
)
export type Pod = Static<typeof Pod>

const clientIdBounds = {
  minLength: 1,
  maxLength: CLIENT_ID_LENGTH_MAX,
  pattern: CLIENT_ID_PATTERN,
  [RULE]: CLIENT_ID_RULE,
}
const nameBounds = { maxLength: NAME_LENGTH_MAX, description: 'Display name.' }

export const CreatePod = Type.Object(
  {
    clientId: Type.Optional(
      Type.String({
        ...clientIdBounds,
        description: 'An id of your choice, unique within the account.',
      }),
    ),
    name: Type.Optional(line(nameBounds)),
  },
  { additionalProperties: false },
)
export type CreatePod = Static<typeof CreatePod>

export const UpdatePod = Type.Object(
  {
    clientId: Type.Optional(
      Type.Unsafe<string | null>({
        type: ['string', 'null'],
        ...clientIdBounds,
        description: 'An id of your choice, unique within the account; null clears it.',
      }),
    ),
    name: Type.Optional(
      nullableLine({ ...nameBounds, description: 'Display name; null clears it.' }),
    ),
  },
  { additionalProperties: false },
)
export type UpdatePod = Static<typeof UpdatePod>
