// Labels and metadata that clients attach to threads, messages and inboxes.

import { Type } from './schema.ts'
import { RULE } from './text.ts'

export const LABELS_MAX = 64
/** Maximum number of labels in a list of the labels in use. */
export const LABELS_LISTED_MAX = 500
export const METADATA_KEYS_MAX = 50
/** Maximum length of a value in code points. */
const METADATA_LENGTH_MAX = 512
export const ASSIGNEE_LENGTH_MAX = 200

/** Maximum number of labels, assignees and metadata values in one filter. */
export const FACETS_MAX = 10

// Compatible with JavaScript regular expressions.
export const LABEL_PATTERN = '^[a-z0-9][a-z0-9_.\\x2f-]{0,63}$'
export const LABEL_RULE =
  'must have 1 to 64 lower-case letters, digits, "_", ".", "/" and "-", beginning with a letter or digit'
const METADATA_KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'
const METADATA_KEY_RULE =
  'must have a key of 1 to 64 letters, digits, "_", "." and "-", beginning with a letter or digit'

export const shownLabels = Type.Array(Type.String(), { description: 'Labels, sorted.' })

export const labelItem = Type.String({ pattern: LABEL_PATTERN, [RULE]: LABEL_RULE })

const labels = (description: string) =>
  Type.Optional(
    Type.Array(labelItem, {
      maxItems: LABELS_MAX,
      description,
    }),
  )

export const labelChanges = {
  addLabels: labels(`Labels to add to the existing ones. At most ${LABELS_MAX} labels in total.`),
  removeLabels: labels(
    'Labels to remove, none of which may be in addLabels. Missing labels are ignored.',
  ),
}

export const shownMetadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
  description: 'Text values by key, stored for the client.',
})

const KEYS = { pattern: METADATA_KEY_PATTERN, [RULE]: METADATA_KEY_RULE }
// PostgreSQL text cannot contain U+0000.
const VALUE = {
  maxLength: METADATA_LENGTH_MAX,
  pattern: '^[^\\x00]*$',
  [RULE]: 'must not contain U+0000',
}

export const newMetadata = Type.Optional(
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    propertyNames: KEYS,
    additionalProperties: { type: 'string', ...VALUE },
    maxProperties: METADATA_KEYS_MAX,
    description: `Text values by key, stored for the client: at most ${METADATA_KEYS_MAX} keys, with ${METADATA_LENGTH_MAX} characters per value.`,
  }),
)

/** Metadata in an update request (RFC 7396). */
export const metadataChange = Type.Optional(
  Type.Unsafe<Record<string, string | null> | null>({
    type: ['object', 'null'],
    propertyNames: KEYS,
    additionalProperties: { type: ['string', 'null'], ...VALUE },
    description: `Values to set by key; null removes a key, and other keys are unchanged. At most ${METADATA_KEYS_MAX} keys in total. Null instead of the object removes all keys.`,
  }),
)

/** Query parameter of lists. */
export const labelsFilter = Type.Optional(
  Type.String({
    description: `Only entries with all of these labels, separated by commas.`,
  }),
)

/** Query parameter of lists, in the form `metadata.key=value`. */
export const metadataFilter = Type.Optional(
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description:
      'Only entries whose metadata has these values, as metadata[key]=value or metadata.key=value, one parameter per key.',
  }),
)
