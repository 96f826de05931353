import type { ReviewStatus } from '@mailroom/contract/vocabulary.ts'
import { COUNTED_MAX } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import type { Fields, StoredOf } from '#store/columns.ts'
import { reviews } from '#store/nouns.ts'
import type { ReadDb } from '#store/tables.ts'

export type Review = Fields<typeof reviews> & { subject: string }

export async function findReview(
  db: ReadDb,
  { accountId, reviewId }: { accountId: string; reviewId: string },
): Promise<Review | null> {
  const row = await selectReviews(db, { accountId, withKept: true })
    .where('reviews.id', '=', reviewId)
    .executeTakeFirst()
  return row === undefined ? null : toReview(row)
}

export type EqualReview = { id: string; digest: string; messageId: string }

export type ListedReview = Review & { equal: EqualReview[] }

/**
 * Lists reviews newest first and counts up to COUNTED_MAX. The newest of equal pending reviews
 * lists the rest. `withKept` includes reviews of deleted messages.
 */
export async function listReviews(
  db: ReadDb,
  input: {
    accountId: string
    status: ReviewStatus | null
    inboxId: string | null
    withKept: boolean
    limit: number
    offset: number
  },
): Promise<{ reviews: ListedReview[]; total: number }> {
  const { status, inboxId, limit, offset } = input
  let listed = selectReviews(db, input).where(({ eb, not, or, exists, selectFrom }) =>
    or([
      eb('reviews.status', '!=', 'pending'),
      not(
        exists(
          selectFrom('reviews as newer')
            .select('newer.id')
            .whereRef('newer.account_id', '=', 'reviews.account_id')
            .whereRef('newer.equal_key', '=', 'reviews.equal_key')
            .whereRef('newer.id', '>', 'reviews.id')
            .where('newer.status', '=', sql.lit('pending')),
        ),
      ),
    ]),
  )
  if (status !== null) listed = listed.where('reviews.status', '=', status)
  if (inboxId !== null) listed = listed.where('reviews.inbox_id', '=', inboxId)
  const rows = await listed.orderBy('reviews.id', 'desc').limit(limit).offset(offset).execute()
  const counted = listed.clearSelect().select('reviews.id').limit(COUNTED_MAX).as('counted')
  const { total } = await db.read
    .selectFrom(counted)
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  const found: ListedReview[] = []
  for (const review of rows.map(toReview)) {
    found.push({ ...review, equal: await findEqual(db, review) })
  }
  return { reviews: found, total: Number(total) }
}

const EQUAL_LISTED_MAX = 100

/** Lists equal reviews, newest first. */
export async function findEqual(
  db: ReadDb,
  { id, accountId, status, equalKey }: Pick<Review, 'id' | 'accountId' | 'status' | 'equalKey'>,
): Promise<EqualReview[]> {
  if (status !== 'pending' || equalKey === null) return []
  return db.read
    .selectFrom('reviews')
    .select(['id', 'digest', 'message_id as messageId'])
    .where('account_id', '=', accountId)
    .where('equal_key', '=', equalKey)
    .where('status', '=', sql.lit('pending'))
    .where('id', '!=', id)
    .orderBy('id', 'desc')
    .limit(EQUAL_LISTED_MAX)
    .execute()
}

/** Lists expired reviews of all accounts, oldest first. */
export async function listExpiredReviews(
  db: ReadDb,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<{ id: string; accountId: string; messageId: string }[]> {
  return db.read
    .selectFrom('reviews')
    .select(['id', 'account_id as accountId', 'message_id as messageId'])
    .where('status', '=', 'pending')
    .where('expires_at', '<=', nowMs)
    .orderBy('expires_at')
    .limit(limit)
    .execute()
}

/** Inboxes that are being removed are omitted. */
function selectReviews(
  db: ReadDb,
  { accountId, withKept }: { accountId: string; withKept: boolean },
) {
  const selected = db.read
    .selectFrom('reviews')
    .leftJoin('messages', 'messages.id', 'reviews.message_id')
    .select([...reviews.of('reviews'), 'messages.subject'])
    .where('reviews.account_id', '=', accountId)
  return withKept
    ? selected.where(({ eb, or }) =>
        or([eb('messages.id', 'is not', null), eb('reviews.kept_texts', 'is not', null)]),
      )
    : selected.where('messages.id', 'is not', null)
}

function toReview({
  subject,
  ...row
}: StoredOf<typeof reviews> & { subject: string | null }): Review {
  const review = reviews.read(row)
  return { ...review, subject: subject ?? review.kept?.subject ?? '' }
}
