import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setAccountSettings } from '#accounts/store/accounts.ts'
import { changePod } from '#accounts/store/pods.ts'
import { storeReceived } from '#inbound/receive/store/receive-messages.ts'
import { changeInbox } from '#inboxes/store/change-inboxes.ts'
import { findShownInbox } from '#inboxes/store/inboxes.ts'
import { listMessages } from '#mailbox/messages/store/messages.ts'
import { listThreads } from '#mailbox/threads/store/threads.ts'
import { systemChance } from '#platform/chance.ts'
import { systemClock } from '#platform/clock.ts'
import { idMaker } from '#platform/ids.ts'
import { DAY_MS } from '#platform/units.ts'
import { removeOverdue } from '#removal/retention.ts'
import { trashThread } from '#removal/store/trash.ts'
import {
  addAccount,
  addInbox,
  arriving,
  assertStoredCounted,
  makeId,
  openDatabase,
  storeOn,
} from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

const running = new AbortController().signal

onEachEngine('retention', (engine) => {
  const database = opened(() => openDatabase(engine))
  const db = prepared(() => database.db)

  /** Messages of these ages in days, the oldest first; each a thread, or all in one. */
  async function filled(ages: readonly number[], { isThread = false } = {}) {
    const owner = await addAccount(db)
    const inboxId = await addInbox(db, owner)
    const key = makeId('msg')
    for (const [at, age] of ages.entries()) {
      const nowMs = systemClock.now() - age * DAY_MS
      const idAt = idMaker({ ...systemClock, now: () => nowMs }, systemChance)
      const fields = isThread ? (at === 0 ? { key } : { parentKeys: [key] }) : {}
      const input = arriving(owner, [inboxId], fields)
      const receipts = input.receipts.map((one) => ({ ...one, messageId: idAt('msg') }))
      await db.write(storeReceived, { ...input, receipts, nowMs })
    }
    return { owner, inboxId }
  }

  const clean = () => removeOverdue(storeOn(db), running)

  async function agesOf({ owner, inboxId }: Awaited<ReturnType<typeof filled>>) {
    const page = { ...owner, inboxId, direction: null, limit: 100, offset: 0, bodyLengthMax: 1 }
    const found = await listMessages(db, page)
    const messages = await Array.fromAsync(found?.messages ?? [])
    assert.equal(found?.total, messages.length)
    return messages.map(({ createdAtMs }) => Math.round((systemClock.now() - createdAtMs) / DAY_MS))
  }

  const keep = (inboxId: string, accountId: string, retentionDays: number | null) =>
    db.write(changeInbox, { accountId, inboxId, retentionDays, nowMs: 1 })

  test('removes the messages of an inbox that are older, and nothing without a setting', async () => {
    const [one, other] = [await filled([40, 30, 20, 10]), await filled([40])]
    await keep(one.inboxId, one.owner.accountId, 25)
    await clean()
    assert.deepEqual(await agesOf(one), [10, 20])
    assert.deepEqual(await agesOf(other), [40])
    await clean()
    assert.deepEqual(await agesOf(one), [10, 20])
    await assertStoredCounted(db)
  })

  test('the setting of the inbox counts before that of its pod, and that before the account’s', async () => {
    const { owner, inboxId } = await filled([40, 30, 20, 10])
    const { accountId, podId } = owner
    const effective = async () =>
      (await findShownInbox(db, accountId, inboxId))?.effectiveRetentionDays
    assert.equal(await effective(), null)
    await db.write(setAccountSettings, { accountId, retentionDays: 5 })
    assert.equal(await effective(), 5)
    await db.write(changePod, { accountId, pod: podId, retentionDays: 15 })
    assert.equal(await effective(), 15)
    await keep(inboxId, accountId, 25)
    assert.equal(await effective(), 25)
    await clean()
    assert.deepEqual(await agesOf({ owner, inboxId }), [10, 20])
    await keep(inboxId, accountId, null)
    await clean()
    assert.deepEqual(await agesOf({ owner, inboxId }), [10])
  })

  test('a thread keeps its younger messages, and goes when none is left, also in the trash', async () => {
    const { owner, inboxId } = await filled([40, 30, 3], { isThread: true })
    await keep(inboxId, owner.accountId, 10)
    await clean()
    const place = { ...owner, inboxId, isRead: null, limit: 10, offset: 0 }
    const page = await listThreads(db, place)
    const [thread] = page?.threads ?? []
    assert.equal(thread?.messageCount, 1)
    assert.equal(thread.unreadCount, 1)
    const nowMs = systemClock.now()
    await db.write(trashThread, { ...owner, threadId: thread.id, nowMs })
    await clean()
    assert.equal((await listThreads(db, { ...place, isTrashed: true }))?.total, 1)
    await keep(inboxId, owner.accountId, 1)
    await clean()
    assert.equal((await listThreads(db, { ...place, isTrashed: true }))?.total, 0)
    await assertStoredCounted(db)
  })

  test('what is being sent stays until it is sent', async () => {
    const { owner, inboxId } = await filled([40, 30, 20])
    await runSql(
      database,
      `update messages set status = 'pending' where inbox_id = '${inboxId}' and arrival = 1`,
    )
    await keep(inboxId, owner.accountId, 10)
    await clean()
    assert.deepEqual(await agesOf({ owner, inboxId }), [40])
  })

  test('many are removed in several steps', async () => {
    const ages = Array.from({ length: 450 }, () => 20)
    const { owner, inboxId } = await filled([...ages, 1])
    await keep(inboxId, owner.accountId, 10)
    await clean()
    assert.deepEqual(await agesOf({ owner, inboxId }), [1])
    await assertStoredCounted(db)
  })
  test('a setting that is changed counts at once, also for an inbox that is under way', async () => {
    const { owner, inboxId } = await filled([40, 30, 20])
    const { accountId } = owner
    await keep(inboxId, accountId, 10)
    const real = database.db
    let isChanged = false
    const write: typeof db.write = async (of, input) => {
      if (of.name === 'removeOverdueStep' && !isChanged) {
        isChanged = true
        await keep(inboxId, accountId, 25)
      }
      return real.write(of, input)
    }
    const changing = new Proxy(real, {
      get: (target, name) => (name === 'write' ? write : Reflect.get(target, name, target)),
    })
    await removeOverdue(storeOn(changing), running)
    assert.ok(isChanged)
    assert.deepEqual(await agesOf({ owner, inboxId }), [20])
    await keep(inboxId, accountId, null)
    await clean()
    assert.deepEqual(await agesOf({ owner, inboxId }), [20])
  })
})
