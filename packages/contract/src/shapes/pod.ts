// Pods: containers of inboxes inside an account.

import { type Static, Type } from '#schema.ts'
import {
  CLIENT_ID_PATTERN,
  CLIENT_ID_RULE,
  line,
  nullableLine,
  nullableText,
  RULE,
  text,
  time,
} from './text.ts'

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
