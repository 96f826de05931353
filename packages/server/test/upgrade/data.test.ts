import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFullRun, isLongRun } from '@mailroom/mail/test/size-of.ts'
import { Mailroom, type Message } from '@mailroom/sdk'
import { createKey } from '#accounts/key.ts'
import { openApp } from '#app.ts'
import { readSettings } from '#config/read-settings.ts'
import type { Engine } from '#platform/db/db.ts'
import { readMigrations } from '#platform/db/migrate.ts'
import { silentLog } from '#platform/log.ts'
import { DAY_MS } from '#platform/units.ts'
import { certificateSettings } from '#test/peers/certificate.ts'
import { openSender } from '#test/peers/sender.ts'
import { until } from '#test/scenarios/outcomes.ts'
import { onBothEngines, plainMail, testKey } from '#test/world.ts'
import { livedInPlace, type Place, VERSIONS } from './old-database.ts'

/** Later versions take fewer of the same steps; a version in between takes no others. */
const versions = VERSIONS.filter(
  (version, index) => isLongRun() || index === 0 || (isFullRun() && version !== '0004'),
)

onBothEngines('a database of schema', (engine) => {
  for (const version of versions) {
    test(`${version} is brought up to date and serves its mail`, async (t) => {
      const place = await livedInPlace(engine, t, version)
      const { app, client } = await open(place)
      t.after(() => app.close(0))
      assert.deepEqual(await versionsOf(place), expectedVersions(engine, version))

      const inboxes = await client.inboxes.list().page()
      const inbox = inboxes.data.find(({ address }) => address.startsWith('kept@'))
      assert.ok(inbox !== undefined)
      const before = (await client.messages.list(inbox.id).page()).data
      const subjects = before.map(({ subject }) => subject)
      for (const subject of ['First', 'Re: First', 'Sent']) assert.ok(subjects.includes(subject))
      const [thread] = before.filter(({ subject }) => subject === 'Re: First')
      const inThread = before.filter(({ threadId }) => threadId === thread?.threadId)
      assert.equal(inThread.length, 2)
      await assertSummed(client, inbox.id, before)
      await assertCounted(client, inbox.id, before)
      await assertNoted(place, inbox.id)
      const found = await client.inboxes.search(inbox.id, { q: 'aardvark' }).page()
      assert.equal(found.data.length, 1)

      const sender = await openSender(app.smtp?.port ?? 0)
      const raw = plainMail({ subject: 'After', body: 'Of the new version.' })
      assert.equal((await sender.send({ to: inbox.address, raw })).code, 250)
      await sender.quit()
      const sent = { to: 'bob@friend.example', subject: 'After', body: 'Hello.' }
      await client.inboxes.send(inbox.id, sent)
      const { total } = await client.messages.list(inbox.id).page()
      assert.equal(total, before.length + 2)
    })
  }
})

/** The usage of the inbox has the mail that an older program counted, once. */
async function assertCounted(client: Mailroom, inboxId: string, messages: readonly Message[]) {
  const times = messages.map(({ createdAt }) => createdAt).sort()
  const from = times[0] ?? ''
  const to = new Date(Date.parse(from) + 2 * DAY_MS).toISOString()
  const numberOf = (status: Message['status']) =>
    messages.filter((message) => message.status === status).length
  await until(async () => {
    const { data } = await client.usage.get({ group_by: 'inbox', from, to })
    const counted = data.find((entry) => entry.inboxId === inboxId)
    return counted?.received === numberOf('received') && counted.sent === numberOf('sent')
  })
}

/** The recipients of what an older program sent are noted soon after the start. */
async function assertNoted(place: Place, inboxId: string) {
  const sent = await place.run(`select recipient from deliveries where inbox_id = '${inboxId}'`)
  assert.ok(sent.length > 0)
  await until(async () => {
    const noted = await place.run(`select * from written_to where inbox_id = '${inboxId}'`)
    const keys = new Set(noted.map((row) => row.address_key))
    return sent.every(({ recipient }) => keys.has(String(recipient).toLowerCase()))
  })
}

/** Summaries that older programs did not store are right, at the first read and after they are stored. */
async function assertSummed(client: Mailroom, inboxId: string, messages: readonly Message[]) {
  for (const _ of [1, 2]) {
    const { data: threads } = await client.threads.list(inboxId).page()
    for (const { id, participants, snippet, unreadCount, isRead } of threads) {
      const inThread = messages.filter(({ threadId }) => threadId === id)
      const [newest] = inThread
      const isSent = newest?.direction === 'outbound'
      const who = isSent ? newest?.toAddr : newest?.fromAddr.replace(/^.*<|>$/g, '')
      assert.equal(participants[0]?.address, who)
      assert.equal(snippet, newest?.extractedText.trim())
      assert.equal(unreadCount, isRead ? 0 : inThread.length)
    }
  }
  const inbox = await client.inboxes.get(inboxId)
  const { total } = await client.threads.list(inboxId, { is_read: false }).page()
  assert.deepEqual([inbox.unreadThreads, inbox.lastMessageAt], [total, messages[0]?.createdAt])
}

async function open(place: Place) {
  const reading = readSettings({
    MAILROOM_HTTP_PORT: '0',
    MAILROOM_SMTP_PORT: '0',
    MAILROOM_DNS_SERVERS: '127.0.0.1:9',
    ...certificateSettings(),
    ...place.env,
  })
  if (reading.kind === 'mistakes') throw new Error(JSON.stringify(reading.mistakes))
  const app = await openApp(reading.settings, { log: silentLog, makeKey: testKey })
  const baseUrl = app.http?.address ?? ''
  const accounts = app.deps.db.read.selectFrom('accounts').select('id')
  const { id: accountId } = await accounts.executeTakeFirstOrThrow()
  const made = await createKey(app.deps, { accountId, name: null })
  return { app, client: new Mailroom({ baseUrl, apiKey: made.token, maxRetries: 0 }) }
}

/** Applied migrations with the oldest program that each works with; old programs noted none. */
async function versionsOf(place: Place): Promise<unknown[]> {
  const text = 'select version, compatible_from from schema_migrations order by version'
  return (await place.run(text)).map((row) => [row.version, row.compatible_from])
}

function expectedVersions(engine: Engine, madeBy: string): unknown[] {
  return readMigrations(engine).map(({ version, compatibleFrom }) => [
    version,
    version <= Number(madeBy) ? null : compatibleFrom,
  ])
}
