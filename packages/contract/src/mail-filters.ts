// Filters of the lists of messages and threads.

import { listOf } from './page.ts'
import { type Static, type TSchema, Type } from './schema.ts'
import { time } from './text.ts'
import { COUNTED_MAX } from './vocabulary.ts'

const FILTER_LENGTH_MAX = 200

const contained = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: FILTER_LENGTH_MAX, description }))

/** `of` has the parts of the descriptions that depend on the listed resource. */
export function filterProperties(of: { from: string; since: string; files: string }) {
  return {
    from: contained(
      `Only ${of.from} whose sender (name or address) contains this text, ignoring case.`,
    ),
    to: contained(
      `Only ${of.from} with a recipient in To or Cc (name or address) that contains this text, ignoring case.`,
    ),
    subject: contained(`Only ${of.from} whose subject contains this text, ignoring case.`),
    since: Type.Optional(time(`Only ${of.since} from this time on.`)),
    until: Type.Optional(time(`Only ${of.since} before this time.`)),
    has_attachment: Type.Optional(Type.Boolean({ description: of.files })),
  }
}

const MailFilters = Type.Object(filterProperties({ from: '', since: '', files: '' }))
export type MailFilters = Static<typeof MailFilters>

export const FILTER_NOTES = `The filters from, to, subject, since, until and has_attachment must all match, and total is then at most ${COUNTED_MAX}. A filtered list takes at most 5 seconds; isComplete is false if it ended before the entire inbox was examined. In a large inbox, a word search is faster than a filter with few matches.`

export function filteredListOf<Item extends TSchema>(item: Item, description: string) {
  const { data, total } = listOf(item, description).properties
  return Type.Object(
    {
      data,
      total,
      isComplete: Type.Optional(
        Type.Boolean({
          description:
            'Only with from, to, subject, since, until, has_attachment or the direction of threads: false if the list ended before the entire inbox was examined; narrow it with since.',
        }),
      ),
    },
    { description },
  )
}
