import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendMessage } from '#outbound/send/send-message.ts'
import type { SendDeps } from '#outbound/send/sender.ts'
import { AppError } from '#platform/problem.ts'
import { SEALING_KEY_BYTES, sealer } from '#platform/seal.ts'
import { DAY_MS } from '#platform/units.ts'
import { openFileReader } from '#platform/workers/file-reader.ts'
import { deliverDeps, type StillClock, stillClock } from '#test/conformance/delivering.ts'
import { addAccount, addInbox, type Owner, openDatabase } from '#test/conformance/open-database.ts'
import { runSql } from '#test/peers/sql.ts'
import { onEachEngine, opened, prepared } from '#test/world.ts'

/** Six hours before the end of a day of UTC. */
const NOW_MS = Date.UTC(2026, 10, 20, 18)
const YOUNG_MS = 30 * DAY_MS

onEachEngine('sending as a client', (engine) => {
  const database = opened(() => openDatabase(engine))
  let owner: Owner
  let clock: StillClock
  const db = prepared(() => database.db)

  let key = 0
  const send = async (
    inboxId: string,
    to: string,
    cc: string[] = [],
    cap: number | null = null,
  ) => {
    const deps: SendDeps = {
      ...deliverDeps(db, clock, null),
      fileReader: openFileReader(),
      signers: { sign: (_owner, raw) => Promise.resolve(raw) },
      inboxDomain: 'mailroom.localhost',
      sending: {
        heldPerInbox: 100,
        reviewDays: 7,
        sendsPerMinute: 1_000,
        sendsPerDay: 1_000,
        coldPerDay: 2,
        coldAccountPerDay: cap,
      },
      wakeDelivery: () => {},
      publicUrl: () => 'http://127.0.0.1:8080',
      sealer: sealer(new Uint8Array(SEALING_KEY_BYTES)),
    }
    key += 1
    try {
      await sendMessage(deps, {
        accountId: owner.accountId,
        inboxId,
        idempotencyKey: `key ${key}`,
        requestHash: new Uint8Array(32),
        to: [to],
        cc,
        bcc: [],
        replyAll: false,
        headers: [],
        sendAtMs: null,
        body: 'Hello',
        bodyHtml: null,
        subject: 'Hello',
        threadId: null,
        includeQuote: false,
        replyTo: null,
        attachments: [],
        hasUnsubscribe: false,
        isAutomatic: false,
        leaseTokenHash: null,
      })
      return 'queued'
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return `${error.code} ${error.options.retryAfterSeconds}`
    }
  }
  const newAccount = async (plan: string, ageMs: number) => {
    clock = stillClock(NOW_MS)
    owner = await addAccount(db)
    await runSql(
      database,
      `update accounts set plan = '${plan}', created_at = ${NOW_MS - ageMs}
       where id = '${owner.accountId}'`,
    )
  }
  const newInbox = async (ageMs: number) => {
    const inboxId = await addInbox(db, owner)
    await runSql(
      database,
      `update inboxes set created_at = ${NOW_MS - ageMs} where id = '${inboxId}'`,
    )
    return inboxId
  }
  const TOO_COLD = `cold_outreach_limit ${6 * 60 * 60}`

  test('a young inbox has its own limit, one of thirty days only that of its account', async () => {
    await newAccount('launch', 0)
    for (const [ageMs, last] of [
      [YOUNG_MS - 1, TOO_COLD],
      [YOUNG_MS, 'queued'],
    ] as const) {
      const inboxId = await newInbox(ageMs)
      for (const to of ['a@far.example', 'b@far.example', 'A@FAR.example']) {
        assert.equal(await send(inboxId, to), 'queued')
      }
      assert.equal(await send(inboxId, 'c@far.example'), last)
    }
  })

  for (const [plan, ageMs, cap] of [
    ['free', 0, 30],
    ['free', YOUNG_MS, 100],
    ['developer', YOUNG_MS - 1, 150],
    ['developer', YOUNG_MS, 500],
    ['launch', 0, 500],
    ['launch', YOUNG_MS, 2_000],
  ] as const) {
    test(`an account of plan ${plan}, ${ageMs} ms old, writes to ${cap} strangers a day`, async () => {
      await newAccount(plan, ageMs)
      const inboxId = await newInbox(YOUNG_MS)
      await send(inboxId, 'first@far.example')
      await runSql(
        database,
        `update account_cold_days set recipient_count = ${cap - 1}
         where account_id = '${owner.accountId}'`,
      )
      assert.equal(await send(inboxId, 'last@far.example'), 'queued')
      assert.equal(await send(inboxId, 'over@far.example'), TOO_COLD)
      assert.equal(await send(inboxId, 'first@far.example'), 'queued')
    })
  }
})
