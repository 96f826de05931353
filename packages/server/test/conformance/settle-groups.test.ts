import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { openDeliveryQueue } from '#delivery/delivery-queue.ts'
import type { CarryOutcome } from '#delivery/transport/carrier.ts'
import type { SettleInput } from '#outbound/settle-deliveries-rows.ts'
import { settleDeliveries } from '#outbound/settle-deliveries-rows.ts'
import { systemClock } from '#platform/clock.ts'
import type { AnyTransaction } from '#platform/db/db.ts'
import type { Db, Tables } from '#schema/tables.ts'
import {
  ACCEPTED,
  AMBIGUOUS,
  claimReady,
  deliverDeps,
  openFarEnd,
  refused,
  UNSENT,
} from '#test/conformance/delivering.ts'
import { addAccount, addInbox } from '#test/conformance/open-database.ts'
import { queueAll, sending } from '#test/conformance/sending.ts'
import { createPreparedDatabase } from '#test/peers/postgres.ts'
import { type Grouping, openGrouping } from './grouping-database.ts'

const OUTCOMES: Record<string, CarryOutcome> = {
  ok: ACCEPTED,
  no: refused('rcpt', `550 5.7.1 Go away, ${'é'.repeat(996)}😀`),
  later: refused('rcpt', '451 4.7.1 Not now'),
  gone: UNSENT,
  lost: AMBIGUOUS,
}

/** Of one message each. */
const MESSAGES = [
  ['ok@one.example'],
  ['no@one.example'],
  ['ok@one.example', 'no@two.example'],
  ['no@one.example', 'no@two.example', 'ok@three.example'],
  ['ok@one.example', 'later@two.example'],
  ['gone@one.example', 'lost@two.example'],
  ['ok@deleted.example'],
  ['ok@stolen.example'],
  ['ok@twice.example'],
]

suite('outcomes that are recorded together', { timeout: 120_000 }, () => {
  let observed: Grouping
  let db: Db
  before(async () => {
    observed = await openGrouping(await createPreparedDatabase())
    db = observed.db
  })
  after(() => db.close())

  /** Attempts all of MESSAGES, has `settle` record what came of them, and reads what is there then. */
  async function storyOf(settle: (inputs: SettleInput[]) => Promise<unknown[]>) {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const ids = await queueAll(
      db,
      MESSAGES.map((recipients) => sending(owner, inboxId, { recipients })),
    )
    const inputs: SettleInput[] = []
    const write = (async (transaction: AnyTransaction<Tables>, input: never) => {
      if (transaction !== settleDeliveries) return db.write(transaction, input)
      inputs.push(input)
      return []
    }) as Db['write']
    const farEnd = openFarEnd((recipient) => OUTCOMES[recipient.split('@')[0] ?? ''] ?? ACCEPTED)
    const queue = openDeliveryQueue(deliverDeps({ ...db, write }, systemClock, farEnd), 'worker')
    const groups = queue.group(await claimReady(queue))
    for (const group of groups) await queue.deliver(group, AbortSignal.any([]))
    const [, , , , , , deleted = '', stolen = '', twice = ''] = ids
    const [theirs] = inputs.filter(({ messageId }) => messageId === stolen)
    assert.ok(theirs !== undefined)
    theirs.worker = 'another'
    const [orphan] = inputs.filter(({ messageId }) => messageId === deleted)
    assert.ok(orphan !== undefined)
    orphan.accountId = 'acc_of_nobody'
    // Its lease was lost, and taken up here again: what came of it first stands.
    const [settled] = inputs.filter(({ messageId }) => messageId === twice)
    assert.ok(settled !== undefined)
    const again = settled.deliveries.map((delivery) => ({
      ...delivery,
      status: 'deferred' as const,
      nextAttemptAtMs: settled.nowMs,
    }))
    inputs.push({ ...settled, deliveries: again })
    const order = new Map(ids.map((id, index) => [id, index]))
    const number = (id: string | null) => order.get(id ?? '') ?? null
    const results = await settle(inputs)
    const rows = await db.read
      .selectFrom('deliveries')
      .selectAll()
      .where('message_id', 'in', ids)
      .orderBy('id')
      .execute()
    const deliveries = rows.map((row) => [
      number(row.message_id),
      row.recipient,
      [row.status, row.queue_state, row.leased_by, row.next_attempt_at !== null],
      [row.ambiguous_attempts, row.host, row.tls, row.response_code, row.enhanced_code],
      row.response,
    ])
    const messages = await db.read
      .selectFrom('messages')
      .select(['id', 'status', 'failure_reason'])
      .where('id', 'in', ids)
      .execute()
    const events = await db.read
      .selectFrom('events')
      .select(['kind', 'message_id', 'pod_id', 'inbox_id', 'details'])
      .where('account_id', '=', owner.accountId)
      .orderBy('sequence')
      .execute()
    await db.read.deleteFrom('deliveries').execute()
    return {
      recorded: results.map((one) => (Array.isArray(one) ? one.length : one)).sort(),
      deliveries,
      messages: messages
        .map(({ id, status, failure_reason }) => [number(id), status, failure_reason])
        .sort(([one], [other]) => Number(one) - Number(other)),
      events: events
        .map(({ kind, message_id, pod_id, inbox_id, details }) => [
          number(message_id),
          kind,
          pod_id === owner.podId && inbox_id === inboxId,
          details,
        ])
        .sort(([one], [other]) => Number(one) - Number(other)),
    }
  }

  test('leave what they would have left one after the other', async () => {
    const alone = await storyOf(async (inputs) => {
      const results: unknown[] = []
      for (const input of inputs) results.push(await db.write(settleDeliveries, input))
      return results
    })
    const together = await storyOf(async (inputs) => {
      observed.groups.length = 0
      const settled = await db.writeGroup?.(
        settleDeliveries,
        inputs.map((input) => ({ input })),
      )
      assert.deepEqual(observed.groups, [inputs.length], 'in one transaction')
      return (settled ?? []).map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
    })
    assert.deepEqual(together, alone)
    assert.deepEqual(
      together.messages.map(([, status]) => status),
      ['sent', 'failed', 'sent', 'sent', 'pending', 'pending', 'pending', 'pending', 'sent'],
    )
    assert.equal(together.events.length, 5)
  })
})
