// Lists and their pagination.

import { type TSchema, Type } from './schema.ts'
import { COUNTED_MAX } from './vocabulary.ts'

const PAGE_SIZE_DEFAULT = 50
/** A larger `limit` is reduced to this, because existing clients ask for more. */
export const PAGE_SIZE_MAX = 100

/** Query of a list. Handlers receive defaults, and `limit` reduced to the maximum. */
export const pageProperties = {
  limit: Type.Integer({
    minimum: 1,
    default: PAGE_SIZE_DEFAULT,
    description: `Page size, capped at ${PAGE_SIZE_MAX}.`,
  }),
  offset: Type.Integer({
    minimum: 0,
    default: 0,
    description: 'Entries to skip.',
  }),
}

export const PageQuery = Type.Object(pageProperties)

export function listOf<Item extends TSchema>(item: Item, description: string) {
  return Type.Object(
    {
      data: Type.Array(item, { description: 'The entries of this page.' }),
      total: Type.Integer({ minimum: 0, description: 'Entries on all pages.' }),
    },
    { description },
  )
}

/** A list whose `total` is capped at COUNTED_MAX. */
export function countedListOf<Item extends TSchema>(item: Item, description: string) {
  return Type.Object(
    {
      data: Type.Array(item, { description: 'The entries of this page.' }),
      total: Type.Integer({
        minimum: 0,
        description: `Number of entries over all pages, counted up to ${COUNTED_MAX}.`,
      }),
    },
    { description },
  )
}
