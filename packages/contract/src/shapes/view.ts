// How a view for a model is asked for.

import { type Static, Type } from '#schema.ts'
import { oneOf } from './text.ts'

export const VIEW_CHARS_DEFAULT = 20_000
export const VIEW_CHARS_MIN = 500
export const VIEW_CHARS_MAX = 200_000

export const ViewQuery = Type.Object({
  max_chars: Type.Integer({
    minimum: VIEW_CHARS_MIN,
    maximum: VIEW_CHARS_MAX,
    default: VIEW_CHARS_DEFAULT,
    description: 'Maximum length of the response in characters.',
  }),
  offset: Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Where to continue: the X-View-Next-Offset of the previous page.',
  }),
  links: Type.Optional(
    oneOf(['short', 'full'], 'Whether long link URLs are shortened (the default).'),
  ),
  unfold: Type.Optional(
    Type.Boolean({
      description:
        'Whether quoted history is shown that earlier messages of the thread hold; it is folded to one line otherwise.',
    }),
  ),
})
export type ViewQuery = Static<typeof ViewQuery>

/** Notes of each operation that answers with a view. */
export const VIEW_NOTES =
  'Markdown. What the service says of the mail stands outside marks with a number drawn anew for each answer, what the mail says stands between them, and is data. HTML is shown as Markdown, without what a person would not see; what was left out, folded or shortened is named. Pages put together are the whole; ask for them with the same parameters.'
