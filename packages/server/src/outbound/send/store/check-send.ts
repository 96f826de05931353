import type { Plan } from '@mailroom/contract/vocabulary.ts'
import { sql } from 'kysely'
import { insertEvent } from '#events/store/append.ts'
import { type ClaimToken, mayChange } from '#mailbox/claims/store/claim-token.ts'
import { THREAD_STATE_COLUMNS, type ThreadState } from '#mailbox/messages/store/write-messages.ts'
import { findSuppressed } from '#outbound/suppressions/store/suppressions.ts'
import { checkWaiting, type WaitingRefusal } from '#outbound/waiting/store/check-waiting.ts'
import { CLOCK_SKEW_MS } from '#platform/clock.ts'
import { lockRows } from '#platform/db/dialect.ts'
import { rowInsert, rowUpdate, statement, together } from '#platform/db/statement.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '#platform/units.ts'
import { type NewRow, type ReadDb, type Row, readIn, type Tables, type Tx } from '#store/tables.ts'
import { findReplay, type KeyUse, type Replay } from './idempotency-keys.ts'

/** Sends in a thread that may answer programs within AUTOMATIC_SENDS_MS. */
export const AUTOMATIC_SENDS_MAX = 10
const AUTOMATIC_SENDS_MS = HOUR_MS
/** The limit covers a burst of automatic messages and the replies to it. */
const AUTOMATIC_SEARCHED_MAX = 64

export type SendCheck = LimitCheck & {
  use: KeyUse
  /** Whether the send waits for its time or for approval. */
  isWaiting: boolean
  isHeld: boolean
}

/** Checks that are made when a send is accepted, and again when a waiting send is released. */
export type LimitCheck = {
  accountId: string
  nowMs: number
  inboxId: string
  thread:
    | { kind: 'new'; id: string }
    /** `messageCount` is the thread's count when the reply was composed; null allows any. */
    | { kind: 'reply'; id: string; messageCount: number | null }
  recipientKeys: string[]
  /** Keys of recipients that have never written to the inbox and are not inboxes of the account. */
  coldRecipients: string[]
  limits: SendLimits
  /** The replying worker's claim, or null if it was already checked. */
  lease: ClaimToken | null
  forwardedThreadId?: string
  /** Hourly sends above which approval is required; null if unlimited or approved. */
  holdAbovePerHour: number | null
  /** Whether the send is already included in the limits on the number of sends. */
  isCounted: boolean
}

export type SendLimits = {
  perMinute: number
  perDay: number
  held: number
  /** Null if only the limit of the account applies. */
  coldPerDay: number | null
  coldAccountPerDay: number
}

export type SendRefusal = Replay | LimitRefusal | WaitingRefusal

export type LimitRefusal =
  | { kind: 'not_found' }
  | { kind: 'thread_trashed' }
  | { kind: 'thread_changed' }
  /** Another worker has claimed the thread, or the worker has lost its claim. */
  | { kind: 'lease_lost' }
  | { kind: 'suppressed'; type: string; address: string }
  | LoopSuspected
  | TooMany
  | TooCold
  /** The inbox has sent `limit` messages in an hour, so the send needs approval. */
  | { kind: 'too_many_per_hour'; limit: number }

type LoopSuspected = {
  kind: 'loop_suspected'
  threadId: string
  retryAtMs: number
  isReported: boolean
}

type TooMany = {
  kind: 'too_many'
  limit: number
  window: 'minute' | 'day'
  retryAtMs: number
}

export type TooCold = {
  kind: 'too_cold'
  limit: number
  scope: 'inbox' | 'account'
  coldRecipients: number
  retryAtMs: number
}

export type AllowedSend = {
  kind: 'allowed'
  counters: Counters
  /** Null if the send starts a thread. */
  thread: ThreadState | null
  sentMs: number
  /** Null if the send answers no program. */
  automaticTimes: number[] | null
  /** Cold recipients to whom the inbox has not written today. */
  newColdRecipients: string[]
}

export type Counters = Pick<Row<'inbox_counters'>, 'last_arrival' | 'send_count'>

/** With `lock`, other sends of the inbox and then of the account wait for this transaction. */
type Access = 'lock' | 'read'

/**
 * Makes all checks of a send and returns the first refusal. The order is: an earlier answer with
 * its key, the inbox, the thread, suppressed recipients, a suspected loop, the rate, cold
 * recipients, the number of waiting sends.
 */
export async function checkSend(
  tx: Tx,
  input: SendCheck,
  access: Access,
): Promise<AllowedSend | SendRefusal> {
  const { use, inboxId } = input
  // Mail that arrives at the inbox waits for this lock, too.
  const [counters] = await (access === 'lock' ? lockCounters : readCounters)(tx, { inboxId })
  const replay = await findReplay(tx, use)
  if (replay !== null) return replay
  const checked = await checkLimits(tx, input, { counters, access })
  if (checked.kind !== 'allowed' || !input.isWaiting) return checked
  const { nowMs, isHeld, limits } = input
  const asked = { inboxId, nowMs, isHeld, heldMax: limits.held }
  return (await checkWaiting(tx, asked)) ?? checked
}

/** The request was checked on acceptance. Locks the counters of the inbox. */
export async function checkRelease(tx: Tx, input: LimitCheck): Promise<AllowedSend | LimitRefusal> {
  const [counters] = await lockCounters(tx, { inboxId: input.inboxId })
  return checkLimits(tx, input, { counters, access: 'lock' })
}

async function checkLimits(
  tx: Tx,
  input: LimitCheck,
  { counters, access }: { counters: Counters | undefined; access: Access },
): Promise<AllowedSend | LimitRefusal> {
  const { accountId, nowMs, inboxId, limits, holdAbovePerHour } = input
  if (counters === undefined) return { kind: 'not_found' }
  const thread = await findThreadOf(tx, input, access)
  if (typeof thread === 'string') return { kind: thread }
  if (!(await isLeaseKept(tx, input, { thread, access }))) return { kind: 'lease_lost' }
  const suppressed = await findSuppressed(readIn(tx), accountId, input.recipientKeys)
  if (suppressed !== null) {
    return { kind: 'suppressed', type: suppressed.type, address: suppressed.address }
  }
  const answers = thread === null ? NO_ANSWERS : await checkAnswers(tx, thread, nowMs)
  if (answers.kind === 'loop_suspected') return answers
  const number = sendNumber(counters)
  const rate = input.isCounted
    ? ({ kind: 'allowed', sentMs: nowMs, isAboveHold: false } as const)
    : await checkSendRate(tx, { inboxId, number, limits, holdAbovePerHour, nowMs })
  if (rate.kind === 'too_many') return rate
  const cold = await checkColdRecipients(tx, input, access)
  if (cold.kind === 'too_cold') return cold
  if (rate.isAboveHold) return { kind: 'too_many_per_hour', limit: holdAbovePerHour ?? 0 }
  const { times: automaticTimes } = answers
  const { sentMs } = rate
  return {
    kind: 'allowed',
    counters,
    thread,
    sentMs,
    automaticTimes,
    newColdRecipients: cold.fresh,
  }
}

export function sendNumber({ send_count }: Counters): number {
  return send_count + 1
}

/**
 * Returns the refusal of `checkSend`, or null. Takes no lock, so only the transaction can accept a
 * send or report a suspected loop.
 */
export async function findRefusal(db: ReadDb, input: SendCheck): Promise<SendRefusal | null> {
  const checked = await checkSend(db.reading, input, 'read')
  if (checked.kind === 'allowed') return null
  if (checked.kind === 'loop_suspected' && !checked.isReported) return null
  // Without a lock, the same request may have been accepted after its key was read.
  return (await findReplay(db.reading, input.use)) ?? checked
}

export async function countRate(
  tx: Tx,
  { inboxId, limits }: Pick<LimitCheck, 'inboxId' | 'limits'>,
  { counters, sentMs }: AllowedSend,
): Promise<void> {
  const number = sendNumber(counters)
  await numberSend(tx, {
    sends: [{ inbox_id: inboxId, send_number: number, sent_at: sentMs }],
    counters: [{ inbox_id: inboxId, send_count: number }],
  })
  const last = number - Math.max(limits.perDay, limits.perMinute)
  if (last > 0) await deleteInboxSend(tx, { inboxId, number: last })
}

export async function countSend(tx: Tx, input: LimitCheck, allowed: AllowedSend): Promise<void> {
  const { thread, automaticTimes } = allowed
  if (!input.isCounted) await countRate(tx, input, allowed)
  if (thread !== null && automaticTimes !== null) {
    await updateTimes(tx, { threadId: thread.id, times: JSON.stringify(automaticTimes) })
  }
  await countCold(tx, input, allowed)
}

export async function countCold(
  tx: Tx,
  { accountId, nowMs, inboxId }: Pick<LimitCheck, 'accountId' | 'nowMs' | 'inboxId'>,
  { newColdRecipients }: AllowedSend,
): Promise<void> {
  if (newColdRecipients.length === 0) return
  const day = utcDay(nowMs)
  for (const key of newColdRecipients) {
    await insertCold(tx, { inbox_id: inboxId, utc_day: day, address_key: key })
  }
  await tx.query
    .updateTable('account_cold_days')
    .set((row) => ({ recipient_count: row('recipient_count', '+', newColdRecipients.length) }))
    .where('account_id', '=', accountId)
    .where('utc_day', '=', day)
    .execute()
}

const THREAD_COLUMNS = [
  ...THREAD_STATE_COLUMNS,
  'threads.automatic_sends',
  'threads.loop_suspected_at',
  'threads.removed_automatic',
  'threads.trashed_at',
  'threads.claim_token_hash',
  'threads.claim_until',
] as const

type FoundThread = ThreadState &
  Pick<
    Row<'threads'>,
    | 'automatic_sends'
    | 'loop_suspected_at'
    | 'removed_automatic'
    | 'trashed_at'
    | 'claim_token_hash'
    | 'claim_until'
  >

async function findThreadOf(
  tx: Tx,
  { thread, inboxId }: LimitCheck,
  access: Access,
): Promise<FoundThread | null | 'not_found' | 'thread_trashed' | 'thread_changed'> {
  if (thread.kind === 'new') return null
  const [found] = await selectThread[access](tx, { id: thread.id, inboxId })
  if (found === undefined || found.trashed_at === 0) return 'not_found'
  if (found.trashed_at !== null) return 'thread_trashed'
  const isAsComposed = thread.messageCount === null || thread.messageCount === found.message_count
  return isAsComposed ? found : 'thread_changed'
}

async function isLeaseKept(
  tx: Tx,
  { lease, forwardedThreadId, inboxId }: LimitCheck,
  { thread, access }: { thread: FoundThread | null; access: Access },
): Promise<boolean> {
  if (lease === null) return true
  if (thread !== null) return mayChange(thread, lease)
  if (forwardedThreadId === undefined) return true
  const [forwarded] = await selectThread[access](tx, { id: forwardedThreadId, inboxId })
  return forwarded === undefined || mayChange(forwarded, lease)
}

type CheckedAnswers = { kind: 'allowed'; times: number[] | null } | LoopSuspected

const NO_ANSWERS: CheckedAnswers = { kind: 'allowed', times: null }

/**
 * Detects two programs that answer each other. A thread with AUTOMATIC_SENDS_MAX answers to
 * programs within AUTOMATIC_SENDS_MS refuses every send until the first of them is old enough. A
 * send is an answer to a program if the newest AUTOMATIC_SEARCHED_MAX messages from that time
 * include more automatic or hop-marked ones than earlier sends have answered.
 */
async function checkAnswers(tx: Tx, thread: FoundThread, wallMs: number): Promise<CheckedAnswers> {
  // A time well in the future is ignored; it was written before the clock was set back.
  const isPast = (timeMs: number) => timeMs <= wallMs + CLOCK_SKEW_MS
  const times = (JSON.parse(thread.automatic_sends) as number[]).filter(isPast)
  // The clocks of processes differ and composing may take long, but the window needs times in
  // ascending order.
  const nowMs = Math.max(wallMs, times.at(-1) ?? wallMs)
  const recent = times.filter((timeMs) => timeMs > nowMs - AUTOMATIC_SENDS_MS)
  const first = recent.at(-AUTOMATIC_SENDS_MAX)
  if (first !== undefined && recent.length >= AUTOMATIC_SENDS_MAX) {
    const retryAtMs = first + AUTOMATIC_SENDS_MS
    return {
      kind: 'loop_suspected',
      threadId: thread.id,
      retryAtMs,
      isReported: isReported(thread, nowMs),
    }
  }
  // Each send answers one message, even if several arrived at once.
  const [{ count } = { count: 0 }] = await countAutomatic(tx, {
    threadId: thread.id,
    afterMs: nowMs - AUTOMATIC_SENDS_MS,
    latestMs: nowMs + CLOCK_SKEW_MS,
  })
  const removed = (JSON.parse(thread.removed_automatic) as number[]).filter(
    (timeMs) => isPast(timeMs) && timeMs > nowMs - AUTOMATIC_SENDS_MS,
  )
  const isAnswer = Number(count) + removed.length > recent.length
  return { kind: 'allowed', times: isAnswer ? [...recent, nowMs] : null }
}

/** Returns whether the loop was already reported within the last hour. */
function isReported({ loop_suspected_at: reportedMs }: FoundThread, nowMs: number): boolean {
  if (reportedMs === null || reportedMs > nowMs + CLOCK_SKEW_MS) return false
  return reportedMs > nowMs - AUTOMATIC_SENDS_MS
}

export async function reportLoop(
  tx: Tx,
  input: { eventId: string; inboxId: string; threadId: string; nowMs: number },
): Promise<void> {
  const { eventId, inboxId, threadId, nowMs } = input
  const [inbox] = await selectInbox(tx, { id: inboxId })
  if (inbox === undefined) return
  await updateSuspected(tx, { threadId, nowMs })
  await insertEvent(tx, {
    id: eventId,
    kind: 'thread.loop_suspected',
    account_id: inbox.account_id,
    pod_id: inbox.pod_id,
    inbox_id: inboxId,
    thread_id: threadId,
    message_id: null,
    occurred_at: nowMs,
    details: null,
  })
}

async function checkSendRate(
  tx: Tx,
  input: {
    inboxId: string
    number: number
    limits: SendLimits
    holdAbovePerHour: number | null
    nowMs: number
  },
): Promise<{ kind: 'allowed'; sentMs: number; isAboveHold: boolean } | TooMany> {
  const { inboxId, number, limits, holdAbovePerHour } = input
  const rows = await selectInboxSends(tx, {
    inboxId,
    minute: number - limits.perMinute,
    day: number - limits.perDay,
    hour: number - (holdAbovePerHour ?? 1),
    last: number - 1,
  })
  const timeOf = (wanted: number) =>
    rows.find(({ send_number }) => send_number === wanted)?.sent_at ?? Number.NEGATIVE_INFINITY
  const { nowMs, windows } = sendWindows(limits, { lastMs: timeOf(number - 1), nowMs: input.nowMs })
  /** With a limit of 0, no earlier send blocks this one. */
  const limitingMs = (limit: number) => (limit === 0 ? nowMs : timeOf(number - limit))
  let found: TooMany | null = null
  for (const { window, limit, ms, afterMs, untilMs } of windows) {
    const sentMs = limitingMs(limit)
    if (sentMs <= afterMs || sentMs > untilMs) continue
    const retryAtMs = sentMs + ms
    if (found === null || retryAtMs > found.retryAtMs) {
      found = { kind: 'too_many', limit, window, retryAtMs }
    }
  }
  if (found !== null) return found
  const hourlyMs =
    holdAbovePerHour === null ? Number.NEGATIVE_INFINITY : limitingMs(holdAbovePerHour)
  return { kind: 'allowed', sentMs: nowMs, isAboveHold: hourlyMs > nowMs - HOUR_MS }
}

/** Counts sends after `afterMs` up to `untilMs`. `lastMs` is the time of the newest send. */
export function sendWindows(
  limits: SendLimits,
  { lastMs, nowMs }: { lastMs: number; nowMs: number },
) {
  // A time well in the future is ignored; it was written before the clock was set back.
  const untilMs = nowMs + CLOCK_SKEW_MS
  // A message that took long to compose may be older than its predecessors.
  const sentMs = lastMs > untilMs ? nowMs : Math.max(nowMs, lastMs)
  const windows = [
    { window: 'minute', limit: limits.perMinute, ms: MINUTE_MS },
    { window: 'day', limit: limits.perDay, ms: DAY_MS },
  ] as const
  return {
    nowMs: sentMs,
    windows: windows.map((one) => ({ ...one, afterMs: sentMs - one.ms, untilMs })),
  }
}

type CheckedColdRecipients = { kind: 'allowed'; fresh: string[] } | TooCold

async function checkColdRecipients(
  tx: Tx,
  input: LimitCheck,
  access: Access,
): Promise<CheckedColdRecipients> {
  const { accountId, nowMs, inboxId, coldRecipients, limits } = input
  const day = utcDay(nowMs)
  if (coldRecipients.length === 0) return { kind: 'allowed', fresh: [] }
  const [total] = await (access === 'lock'
    ? openColdDay(tx, { account_id: accountId, utc_day: day, recipient_count: 0 })
    : selectColdDay(tx, { accountId, utcDay: day }))
  const known = await selectCold(tx, { inboxId, utcDay: day })
  const keys = new Set(known.map((row) => row.address_key))
  const fresh = coldRecipients.filter((key) => !keys.has(key))
  if (fresh.length === 0) return { kind: 'allowed', fresh }
  const refused = (scope: TooCold['scope'], limit: number): TooCold => {
    const retryAtMs = endOfUtcDay(day)
    return { kind: 'too_cold', limit, scope, coldRecipients: coldRecipients.length, retryAtMs }
  }
  const { coldPerDay, coldAccountPerDay } = limits
  if (coldPerDay !== null && keys.size + fresh.length > coldPerDay) {
    return refused('inbox', coldPerDay)
  }
  const isOver = (total?.recipient_count ?? 0) + fresh.length > coldAccountPerDay
  return isOver ? refused('account', coldAccountPerDay) : { kind: 'allowed', fresh }
}

export async function hasWritten(
  db: ReadDb,
  input: { inboxId: string; addressKey: string },
): Promise<boolean> {
  const [row] = await selectCorrespondent(db.reading, input)
  return row !== undefined
}

export const lockCounters = statement<Tables, { inboxId: string }, Counters>(
  (query, given, engine) =>
    lockRows(
      { engine },
      query
        .selectFrom('inbox_counters')
        .select(['last_arrival', 'send_count'])
        .where('inbox_id', '=', given('inboxId')),
    ),
)

export const readCounters = statement<Tables, { inboxId: string }, Counters>((query, given) =>
  query
    .selectFrom('inbox_counters')
    .select(['last_arrival', 'send_count'])
    .where('inbox_id', '=', given('inboxId')),
)

const threadSelection = (access: Access) =>
  statement<Tables, { id: string; inboxId: string }, FoundThread>((query, given, engine) => {
    const thread = query
      .selectFrom('threads')
      .select(THREAD_COLUMNS)
      .where('id', '=', given('id'))
      .where('inbox_id', '=', given('inboxId'))
    // Claims wait for the row instead of for the counters of the inbox.
    return access === 'lock' ? lockRows({ engine }, thread) : thread
  })

const selectThread = { lock: threadSelection('lock'), read: threadSelection('read') }

type CountedRange = { threadId: string; afterMs: number; latestMs: number }

const countAutomatic = statement<Tables, CountedRange, { count: number | string | bigint }>(
  (query, given) =>
    query
      .selectFrom((newest) =>
        newest
          .selectFrom('messages')
          .select('messages.id')
          .where('messages.thread_id', '=', given('threadId'))
          .where('messages.created_at', '>', given('afterMs'))
          .where('messages.created_at', '<=', given('latestMs'))
          .orderBy('messages.created_at', 'desc')
          .orderBy('messages.id', 'desc')
          .limit(sql.lit(AUTOMATIC_SEARCHED_MAX))
          .as('newest'),
      )
      .innerJoin('messages', 'messages.id', 'newest.id')
      .innerJoin('raw_messages', 'raw_messages.id', 'messages.raw_id')
      .select(({ fn }) => fn.countAll().as('count'))
      .where('messages.direction', '=', 'inbound')
      .where(({ eb, or }) =>
        or([
          eb('messages.automatic_reason', 'is not', null),
          eb('raw_messages.origin', '=', 'service'),
          eb('raw_messages.is_marked', '=', 1),
        ]),
      ),
)

const selectInbox = statement<Tables, { id: string }, { account_id: string; pod_id: string }>(
  (query, given) =>
    query.selectFrom('inboxes').select(['account_id', 'pod_id']).where('id', '=', given('id')),
)

const updateTimes = statement<Tables, { threadId: string; times: string }, never>((query, given) =>
  query
    .updateTable('threads')
    .set({ automatic_sends: given('times') })
    .where('id', '=', given('threadId')),
)

const updateSuspected = statement<Tables, { threadId: string; nowMs: number }, never>(
  (query, given) =>
    query
      .updateTable('threads')
      .set({ loop_suspected_at: given('nowMs') })
      .where('id', '=', given('threadId')),
)

const selectInboxSends = statement<
  Tables,
  { inboxId: string; minute: number; day: number; hour: number; last: number },
  { send_number: number; sent_at: number }
>((query, given) =>
  query
    .selectFrom('inbox_sends')
    .select(['send_number', 'sent_at'])
    .where('inbox_id', '=', given('inboxId'))
    .where('send_number', 'in', [given('minute'), given('day'), given('hour'), given('last')]),
)

const numberSend = together<
  Tables,
  { sends: Row<'inbox_sends'>; counters: Pick<Row<'inbox_counters'>, 'inbox_id' | 'send_count'> }
>({
  sends: rowInsert('inbox_sends', ['inbox_id', 'send_number', 'sent_at']),
  counters: rowUpdate('inbox_counters', (query, given) =>
    query
      .updateTable('inbox_counters as counters')
      .set({ send_count: given('send_count') })
      .where('counters.inbox_id', '=', given('inbox_id')),
  ),
})

const deleteInboxSend = statement<Tables, { inboxId: string; number: number }, never>(
  (query, given) =>
    query
      .deleteFrom('inbox_sends')
      .where('inbox_id', '=', given('inboxId'))
      .where('send_number', '=', given('number')),
)

const selectCorrespondent = statement<
  Tables,
  { inboxId: string; addressKey: string },
  { address_key: string }
>((query, given) =>
  query
    .selectFrom('correspondents')
    .select('address_key')
    .where('inbox_id', '=', given('inboxId'))
    .where('address_key', '=', given('addressKey')),
)

export const selectCold = statement<
  Tables,
  { inboxId: string; utcDay: number },
  { address_key: string }
>((query, given) =>
  query
    .selectFrom('cold_recipients')
    .select('address_key')
    .where('inbox_id', '=', given('inboxId'))
    .where('utc_day', '=', given('utcDay')),
)

const insertCold = statement<Tables, NewRow<'cold_recipients'>, never>((query, given) =>
  query.insertInto('cold_recipients').values({
    inbox_id: given('inbox_id'),
    utc_day: given('utc_day'),
    address_key: given('address_key'),
  }),
)

export const selectColdDay = statement<
  Tables,
  { accountId: string; utcDay: number },
  { recipient_count: number }
>((query, given) =>
  query
    .selectFrom('account_cold_days')
    .select('recipient_count')
    .where('account_id', '=', given('accountId'))
    .where('utc_day', '=', given('utcDay')),
)

const openColdDay = statement<Tables, NewRow<'account_cold_days'>, { recipient_count: number }>(
  (query, given) =>
    query
      .insertInto('account_cold_days')
      .values({
        account_id: given('account_id'),
        utc_day: given('utc_day'),
        recipient_count: given('recipient_count'),
      })
      .onConflict((conflict) =>
        conflict.columns(['account_id', 'utc_day']).doUpdateSet((row) => ({
          recipient_count: row.ref('account_cold_days.recipient_count'),
        })),
      )
      .returning('recipient_count'),
)

const YOUNG_MS = 30 * DAY_MS

/** Settings of the operator. Null means the limit of the plan. */
export type SendSettings = {
  reviewDays: number
  sendsPerMinute: number
  sendsPerDay: number
  coldPerDay: number
  coldAccountPerDay: number | null
  heldPerInbox: number
}

const COLD_PER_DAY: Record<Plan, { young: number; grown: number }> = {
  free: { young: 30, grown: 100 },
  developer: { young: 150, grown: 500 },
  launch: { young: 500, grown: 2_000 },
}

export function coldAccountLimit(plan: Plan, isYoung: boolean): number {
  return COLD_PER_DAY[plan][isYoung ? 'young' : 'grown']
}

export function isYoung(createdAtMs: number, nowMs: number): boolean {
  return nowMs - createdAtMs < YOUNG_MS
}

/** Returns the number of days since the epoch, in UTC. */
export function utcDay(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS)
}

export function endOfUtcDay(day: number): number {
  return (day + 1) * DAY_MS
}
