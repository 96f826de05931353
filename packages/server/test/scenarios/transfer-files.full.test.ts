import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { DAY_MS, MINUTE_MS } from '#platform/units.ts'
import { runSql } from '#test/peers/sql.ts'
import { outcomeOf, refusal, refusalOf, until } from '#test/scenarios/outcomes.ts'
import {
  countsOf,
  exported,
  imported,
  mailFrom,
  mboxOf,
  tarOf,
} from '#test/scenarios/transfer-mail.ts'
import {
  changePart,
  onAnyEngine,
  onEachEngine,
  opened,
  openTenant,
  openWorld,
  plainMail,
} from '#test/world.ts'
import { purgeTransfers } from '#transfers/transfers.ts'

const MIB = 1024 * 1024
const run = promisify(execFile)

onEachEngine('exports', (engine) => {
  const world = opened(() => openTenant(engine))

  test('name what is wrong with a request', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const wrong = async (body: object) => {
      const { status, details } = await refusalOf(client.exports.create(body as never))
      return [status, details?.map(({ path }) => path)]
    }
    const pod = (await client.pods.list().page()).data[0]
    assert.deepEqual(await wrong({ format: 'mbox' }), [400, ['inboxId']])
    const both = { inboxId: inbox.id, podId: pod?.id, format: 'mbox' }
    assert.deepEqual(await wrong(both), [400, ['podId']])
    assert.deepEqual(await wrong({ inboxId: inbox.id, format: 'zip' }), [400, ['format']])
    assert.deepEqual(await wrong({ inboxId: inbox.id }), [400, ['format']])
    const ofInbox = client.exports.create({ inboxId: 'inb_none', format: 'mbox' })
    const { status, code, message } = await refusalOf(ofInbox)
    assert.equal(`${status} ${code}`, '404 not_found')
    assert.match(message, /no inbox with this inboxId/)
    const ofPod = client.exports.create({ podId: 'none', format: 'mbox' })
    assert.equal(await refusal(ofPod), '400 invalid_pod')
  })

  test('belong to one account, and their URLs end after 15 minutes, the file after seven days', async () => {
    const { client } = world
    const inbox = await world.inbox()
    await world.send({ from: 'ann@a.example', to: [inbox.address], raw: plainMail({}) })
    const done = await exported(client, { inboxId: inbox.id, format: 'mbox' })
    const other = await world.newAccount()
    assert.equal(await refusal(other.client.exports.get(done.id)), '404 not_found')
    assert.equal(await refusal(other.client.exports.download(done.id)), '404 not_found')
    const ofOthers = other.client.exports.create({ inboxId: inbox.id, format: 'mbox' })
    assert.equal(await refusal(ofOthers), '404 not_found')
    assert.equal((await other.client.exports.list().page()).total, 0)

    const url = done.url ?? ''
    const { token } = await client.approvers.create({ name: 'Ann' })
    const approver = world.clientWith(token).exports
    for (const asked of [
      () => approver.list().page(),
      () => approver.get(done.id),
      () => approver.download(done.id),
    ]) {
      assert.equal(await refusal(asked()), '403 forbidden')
    }
    // Whoever has the URL has the file.
    const headers = { authorization: `Bearer ${token}` }
    assert.equal(await outcomeOf(fetch(url, { headers })), '200')
    const part = await fetch(url, { headers: { range: 'bytes=5-14' } })
    const whole = Buffer.from(await (await fetch(url)).arrayBuffer())
    assert.equal(part.status, 206)
    assert.equal(await part.text(), whole.toString('latin1', 5, 15))
    const head = await fetch(url, { method: 'HEAD' })
    assert.equal(head.headers.get('content-length'), String(done.sizeBytes))
    const forged = url.replace(/signature=./, 'signature=!')
    assert.equal(await outcomeOf(fetch(forged)), '403 invalid_signature')
    const another = await exported(client, { inboxId: inbox.id, format: 'jsonl' })
    assert.equal(await outcomeOf(fetch(url.replace(done.id, another.id))), '403 invalid_signature')

    world.clock.advance(15 * MINUTE_MS + 1_000)
    assert.equal(await outcomeOf(fetch(url)), '403 invalid_signature')
    const fresh = (await client.exports.get(done.id)).url ?? ''
    assert.equal(await outcomeOf(fetch(fresh)), '200')
    // Longer than the file is there, no URL is valid.
    world.clock.advance(7 * DAY_MS - 16 * MINUTE_MS)
    const last = (await client.exports.get(done.id)).url ?? ''
    assert.equal(await outcomeOf(fetch(last)), '200')
    world.clock.advance(MINUTE_MS)
    assert.equal(await outcomeOf(fetch(last)), '403 invalid_signature')
    const expired = await client.exports.get(done.id)
    assert.deepEqual([expired.status, expired.url], ['expired', null])
    assert.equal(await refusal(client.exports.download(done.id)), '404 not_found')
    await purgeTransfers(world.app.deps, AbortSignal.any([]))
    assert.deepEqual(await runSql(world, 'select id from transfer_chunks'), [])
    assert.equal((await client.exports.get(done.id)).status, 'expired')
    world.clock.advance(31 * DAY_MS)
    await purgeTransfers(world.app.deps, AbortSignal.any([]))
    assert.equal(await refusal(client.exports.get(done.id)), '404 not_found')
  })

  test('of a pod hold every inbox of it, and foreign programs read them', async (t) => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({ clientId: 'tenant' })
    const inboxes = [
      await client.inboxes.create({ podId: pod.id }),
      await client.inboxes.create({ podId: pod.id }),
    ]
    for (const { address, id } of inboxes) {
      await world.send({ from: 'ann@a.example', to: [address], raw: plainMail({}) })
      await imported(client, id, mboxOf(mailFrom('ann@a.example', 'old', 'Status: RO\n')))
    }
    const folder = await mkdtemp(join(tmpdir(), 'mailroom-test-'))
    t.after(() => rm(folder, { recursive: true, force: true }))
    for (const format of ['mbox', 'maildir'] as const) {
      const { id, progress } = await exported(client, { podId: 'tenant', format })
      assert.deepEqual(progress, { done: 4, total: 4 })
      const { content } = await client.exports.download(id)
      await writeFile(join(folder, format), content)
    }
    const raws: string[] = []
    for (const inbox of inboxes) {
      for await (const { id } of client.messages.list(inbox.id)) {
        const { content } = await client.messages.raw(id)
        raws.push(Buffer.from(content).toString('base64'))
      }
    }
    const read = await run('python3', ['-c', FOREIGN_READER, folder]).catch((error) => {
      if (error.code === 'ENOENT') return null
      throw error
    })
    if (read === null) return t.skip('python3 is not installed')
    const seen = JSON.parse(read.stdout)
    assert.deepEqual(seen.mbox.toSorted(), raws.toSorted())
    assert.deepEqual(seen.maildir.toSorted(), raws.toSorted())
    assert.deepEqual(seen.flags.toSorted(), ['', '', 'S', 'S'])
  })

  test('have few downloads of an account at a time, and others have theirs', async () => {
    const [one, two] = [await world.newAccount(), await world.newAccount()]
    // More than the kernel's buffers hold.
    const mails = Array.from({ length: 12 }, (_, at) =>
      mailFrom('a@a.example', `d${at}`, LONG_TEXT),
    )
    const url = async ({ client }: typeof one, file: string) => {
      const { id } = await client.inboxes.create()
      await imported(client, id, file)
      return (await exported(client, { inboxId: id, format: 'mbox' })).url ?? ''
    }
    const first = await url(one, mboxOf(...mails))
    const second = await url(two, mboxOf(mailFrom('a@a.example', 'short')))
    const sockets = Array.from({ length: 20 }, () => askFor(first))
    const heads = await Promise.all(
      sockets.map(async (socket) => {
        await once(socket, 'readable')
        return String(socket.read(12)).slice(-3)
      }),
    )
    const of = (status: string) => heads.filter((head) => head === status).length
    assert.deepEqual([of('200'), of('503')], [8, 12])
    assert.equal(await refusal(one.client.exports.download(idIn(first))), '503 service_unavailable')
    assert.equal(await outcomeOf(fetch(second)), '200')
    for (const socket of sockets) socket.destroy()
    await until(async () => (await outcomeOf(fetch(first))) === '200')
  })

  test('that are deleted end in any state, and with them their URLs and files', async (t) => {
    const { client } = await world.newAccount()
    const other = await world.newAccount()
    const inbox = await client.inboxes.create()
    await imported(client, inbox.id, mboxOf(mailFrom('ann@a.example', 'd1')))
    const done = await exported(client, { inboxId: inbox.id, format: 'mbox' })
    const url = done.url ?? ''
    assert.equal(await refusal(other.client.exports.delete(done.id)), '404 not_found')
    assert.equal(await outcomeOf(fetch(url)), '200')
    await client.exports.delete(done.id)
    assert.equal(await outcomeOf(fetch(url)), '404 not_found')
    for (const again of [
      () => client.exports.get(done.id),
      () => client.exports.download(done.id),
      () => client.exports.delete(done.id),
    ]) {
      assert.equal(await refusal(again()), '404 not_found')
    }
    // Deleted in the middle, when its first messages are written.
    t.after(
      changePart(world.app.deps.db, ({ write }) => ({
        write: (async (of: never, input: never) => {
          if ((of as { name: string }).name === 'addExported') {
            for await (const { id } of client.exports.list()) await client.exports.delete(id)
          }
          return write(of, input)
        }) as typeof write,
      })),
    )
    const made = await client.exports.create({ inboxId: inbox.id, format: 'jsonl' })
    await until(async () => (await client.exports.list().page()).total === 0)
    assert.equal(await refusal(client.exports.get(made.id)), '404 not_found')
    const left = `select c.id from transfer_chunks c left join transfers t on t.id = c.transfer_id
      where t.id is null or t.id in ('${done.id}', '${made.id}')`
    assert.deepEqual(await runSql(world, left), [])
  })

  test('end with their inbox or pod', async () => {
    const { client } = await world.newAccount()
    const pod = await client.pods.create({})
    const inbox = await client.inboxes.create({ podId: pod.id })
    const ofInbox = await exported(client, { inboxId: inbox.id, format: 'mbox' })
    const ofPod = await exported(client, { podId: pod.id, format: 'mbox' })
    await client.inboxes.delete(inbox.id)
    assert.equal(await outcomeOf(fetch(ofInbox.url ?? '')), '404 not_found')
    assert.equal(await outcomeOf(fetch(ofPod.url ?? '')), '200')
    await client.pods.delete(pod.id)
    assert.equal(await outcomeOf(fetch(ofPod.url ?? '')), '404 not_found')
    const { data } = await client.exports.list().page()
    assert.deepEqual(
      data.map(({ status, error, url }) => [status, error, url]),
      Array.from({ length: 2 }, () => ['failed', 'inbox_deleted', null]),
    )
  })

  test('of one account are ten, of which the oldest goes', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const made = []
    for (let count = 0; count < 12; count += 1) {
      made.push(await exported(client, { inboxId: inbox.id, format: 'mbox' }))
    }
    const { data } = await client.exports.list().page()
    const states = data.toReversed().map(({ status }) => status)
    assert.deepEqual(states, ['expired', 'expired', ...Array.from({ length: 10 }, () => 'done')])
    assert.equal(await outcomeOf(fetch(made[1]?.url ?? '')), '404 not_found')
    assert.equal(await outcomeOf(fetch(made[2]?.url ?? '')), '200')
  })

  test('of one account are few at a time', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const asked = Array.from({ length: 20 }, () =>
      client.exports.create({ inboxId: inbox.id, format: 'mbox' }),
    )
    const settled = await Promise.allSettled(asked)
    const made = settled.filter(({ status }) => status === 'fulfilled').length
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.ok(made >= 5, `${made} were made`)
    assert.deepEqual([...new Set(refused)], refused.length > 0 ? ['transfer_limit_reached'] : [])
    for await (const { id } of client.exports.list()) await client.exports.untilDone(id)
  })
})

/** A request whose answer nobody reads. */
function askFor(url: string): Socket {
  const { hostname: host, port, pathname, search } = new URL(url)
  const socket = connect({ host, port: Number(port) })
  socket.on('error', () => {})
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: a\r\n\r\n`)
  return socket
}

const LONG_TEXT = `\n${'x'.repeat(MIB)}`

function idIn(url: string): string {
  return /exp_\w+/.exec(url)?.[0] ?? ''
}

/** Prints what Python's mailbox module reads, each message in base64. */
const FOREIGN_READER = `
import mailbox, json, sys, os, base64, tarfile
folder = sys.argv[1]
box = mailbox.mbox(os.path.join(folder, 'mbox'), create=False)
def unquote(b):
    import re
    return re.sub(rb'(?m)^>(>*From )', rb'\\1', b)
mbox = [base64.b64encode(unquote(box.get_bytes(key))).decode() for key in box.keys()]
tarfile.open(os.path.join(folder, 'maildir')).extractall(os.path.join(folder, 'out'))
maildir, flags = [], []
for name in os.listdir(os.path.join(folder, 'out')):
    one = mailbox.Maildir(os.path.join(folder, 'out', name), create=False)
    for key in one.keys():
        maildir.append(base64.b64encode(one.get_bytes(key)).decode())
        flags.append(one.get_message(key).get_flags())
print(json.dumps({'mbox': mbox, 'maildir': maildir, 'flags': flags}))
`

onEachEngine('an import', (engine) => {
  const world = opened(() =>
    openWorld(engine, { env: { MAILROOM_LIMIT_IMPORT_BYTES: String(4 * MIB) } }),
  )

  test('keeps dates, threads, flags and directions, and wakes nobody', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const seen = (await client.events.list().page()).data.length
    const waiting = client.inboxes.wait(inbox.id, { timeout: 3 })
    const file = mboxOf(
      mailFrom('ann@a.example', 'm1', 'Status: RO\n'),
      mailFrom(inbox.address, 'm2', 'Status: RO\nIn-Reply-To: <m1@x.example>\n'),
      mailFrom('bob@b.example', 'm3', 'References: <gone@x.example>\n'),
      mailFrom('bob@b.example', 'm4').replace(/^Message-ID.*\n/m, ''),
    )
    const done = await imported(client, inbox.id, file)
    assert.deepEqual(countsOf(done), {
      status: 'done',
      imported: 4,
      duplicates: 0,
      failures: [],
      error: null,
    })
    assert.deepEqual(done.progress, { done: file.length, total: file.length })
    const messages = (await client.messages.list(inbox.id).page()).data.toReversed()
    assert.deepEqual(
      messages.map(({ direction, status, createdAt }) => [direction, status, createdAt]),
      [
        ['inbound', 'received', '2015-02-03T04:05:06.000Z'],
        ['outbound', 'sent', '2015-02-03T04:05:06.000Z'],
        ['inbound', 'received', '2015-02-03T04:05:06.000Z'],
        ['inbound', 'received', '2015-02-03T04:05:06.000Z'],
      ],
    )
    assert.deepEqual(messages[1]?.to, ['us@ours.example'])
    assert.equal(messages[0]?.threadId, messages[1]?.threadId)
    assert.equal(messages[0]?.authentication, null)
    const threads = (await client.threads.list(inbox.id).page()).data
    assert.deepEqual(
      threads.map(({ isRead, messageCount }) => [isRead, messageCount]),
      [
        [false, 1],
        [false, 1],
        [true, 2],
      ],
    )
    assert.equal((await waiting).message, null)
    assert.equal((await client.events.list().page()).data.length, seen)
    const ofInbox = await client.events.list({ inbox_id: inbox.id }).page()
    assert.deepEqual([ofInbox.data, ofInbox.total], [[], 0])
    const found = await client.inboxes.search(inbox.id, { q: 'from:bob m3' }).page()
    assert.equal(found.total, 1)
    await assertCounted(inbox.id)
    // Mail that arrives continues the positions and the threads.
    await world.send({ from: 'ann@a.example', to: [inbox.address], raw: ANSWER })
    const [newest] = (await client.messages.list(inbox.id, { limit: 1 }).page()).data
    assert.deepEqual([newest?.subject, newest?.threadId], ['answer', messages[0]?.threadId])
    await assertCounted(inbox.id)
  })

  /** The counters of the inbox equal its rows. */
  async function assertCounted(inboxId: string): Promise<void> {
    const of = (what: string, where = '') =>
      `(select count(*) from ${what} where inbox_id = '${inboxId}' ${where})`
    const [row] = await runSql(
      world,
      `select inbound_count = ${of('messages', "and direction = 'inbound'")} as inbound,
        outbound_count = ${of('messages', "and direction = 'outbound'")} as outbound,
        send_count = 0 as unsent,
        thread_count = ${of('threads')} as threads,
        unread_thread_count = ${of('threads', 'and is_read = 0')} as unread,
        last_arrival = (select max(arrival) from messages where inbox_id = '${inboxId}') as arrivals,
        stored_bytes = (select sum(r.size_bytes) from messages m join raw_messages r on r.id = m.raw_id where m.inbox_id = '${inboxId}') as bytes
      from inbox_counters where inbox_id = '${inboxId}'`,
    )
    const wrong = Object.entries(row ?? { row: false }).filter(([, isSo]) => Number(isSo) !== 1)
    assert.deepEqual(wrong, [])
  }

  test('of the same file twice, also at once, stores nothing twice', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const mails = Array.from({ length: 120 }, (_, index) => {
      const mail = mailFrom('ann@a.example', `s${index}`)
      return index % 3 === 0 ? mail.replace(/^Message-ID.*\n/m, '') : mail
    })
    const file = mboxOf(...mails, ...mails.slice(0, 30))
    const both = await Promise.all([
      imported(client, inbox.id, file),
      imported(client, inbox.id, file),
    ])
    const again = await imported(client, inbox.id, file)
    const sum = both.reduce((total, one) => total + one.imported, 0)
    assert.deepEqual([sum, again.imported, again.duplicates], [120, 0, 150])
    assert.equal((await client.messages.list(inbox.id).page()).total, 120)
    await assertCounted(inbox.id)
  })

  test('is refused with the field or the size that is wrong', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const wrong = async (file: string | Uint8Array<ArrayBuffer>, type?: string) => {
      const { status, code, details } = await refusalOf(
        client.imports.create(inbox.id, file, { ...(type !== undefined && { type }) }),
      )
      return `${status} ${code} ${details?.map(({ path, message }) => `${path} ${message}`)}`
    }
    assert.match(await wrong(''), /^400 bad_request file must not be empty/)
    assert.match(await wrong(mailFrom('a@a.example', 'x'), 'application/mbox'), /^400 .*"From "/)
    assert.match(
      await wrong('nothing of the kind'),
      /^400 bad_request file is not an mbox, tar archive/,
    )
    assert.match(await wrong(new Uint8Array([0x1f, 0x8b, 8, 0, 0])), /^400 .*gzip cannot read it/)
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(4 * MIB + 1, 'Subject: x')))
    assert.match(await wrong(bomb), /^413 payload_too_large/)
    for (const [start, advice] of [
      ['PK\x03\x04', /zip archive: unpack it/],
      ['!BDN', /pst.*readpst/],
      ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', /msg.*save it as eml/],
      ['1234      \nFrom: a@a.example\n\nx', /emlx.*as mbox/],
      ['BZh91AY', /compressed: unpack it/],
    ] as const) {
      const file = new Uint8Array(Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(600)]))
      const answer = await wrong(file)
      assert.match(answer, /^400 bad_request file /)
      assert.match(answer, advice)
    }
    const large = new Uint8Array(4 * MIB + 1).fill(0x41)
    large.set(Buffer.from('From a@b Tue Feb  3 04:05:06 2015\n'))
    assert.match(await wrong(large), /^413 payload_too_large/)
    const file = mboxOf(mailFrom('ann@a.example', 'm1'))
    assert.equal(await refusal(client.imports.create('inb_none', file)), '404 not_found')
    const other = await world.newAccount()
    assert.equal(await refusal(other.client.imports.create(inbox.id, file)), '404 not_found')
    const { id } = await imported(client, inbox.id, file)
    assert.equal(await refusal(other.client.imports.get(id)), '404 not_found')
    const encoded = await world.fetch(`/v1/inboxes/${inbox.id}/imports`, {
      method: 'POST',
      body: file,
      headers: { 'content-encoding': 'gzip', 'content-type': 'application/mbox' },
    })
    assert.equal(await outcomeOf(encoded), '415 unsupported_media_type')
    // Nothing of refused files is left.
    assert.deepEqual(await runSql(world, 'select id from transfer_chunks'), [])
  })

  test('is listed, newest first, for its account alone', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const made = [
      await imported(client, inbox.id, mboxOf(mailFrom('ann@a.example', 'l1'))),
      await imported(client, inbox.id, mboxOf(mailFrom('ann@a.example', 'l1'))),
    ]
    assert.deepEqual(await client.imports.list().page(), { data: made.reverse(), total: 2 })
    const second = await client.imports.list({ limit: 1, offset: 1 }).page()
    assert.deepEqual(second, { data: made.slice(1), total: 2 })
    const other = await world.newAccount()
    assert.equal((await other.client.imports.list().page()).total, 0)
  })

  test('of a jsonl sets the labels of messages, and of the threads that it starts', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const line = (id: string, more: object) => {
      const raw = mailFrom('ann@a.example', id).replaceAll('\n', '\r\n')
      return JSON.stringify({ raw: Buffer.from(raw).toString('base64'), ...more })
    }
    const many = Array.from({ length: 65 }, (_, at) => `l${at}`)
    const file = [
      line('j1', { threadId: 'a', labels: ['one', 'Not A Label'], threadLabels: ['support'] }),
      line('j2', { threadId: 'a', labels: ['one', 'two'], threadLabels: ['support', 7] }),
      line('j3', { threadId: 'b', labels: many, threadLabels: many }),
    ].join('\n')
    const seen = (await client.events.list().page()).data.length
    assert.equal((await imported(client, inbox.id, file)).imported, 3)
    assert.equal((await client.events.list().page()).data.length, seen)
    const messages = (await client.messages.list(inbox.id).page()).data.toReversed()
    assert.deepEqual(
      messages.map(({ labels }) => labels),
      [['one'], ['one', 'two'], []],
    )
    const labelled = await client.messages.list(inbox.id, { labels: 'one,two' }).page()
    assert.deepEqual([labelled.total, labelled.data[0]?.id], [1, messages[1]?.id])
    const threads = await client.threads.list(inbox.id, { labels: 'support' }).page()
    assert.deepEqual([threads.total, threads.data[0]?.id], [1, messages[0]?.threadId])
    // What the account has changed since stays.
    await client.threads.update(messages[0]?.threadId ?? '', { removeLabels: ['support'] })
    await client.messages.update(messages[0]?.id ?? '', { removeLabels: ['one'] })
    assert.equal((await imported(client, inbox.id, file)).duplicates, 3)
    assert.deepEqual((await client.messages.get(messages[0]?.id ?? '')).labels, [])
    assert.equal((await client.threads.list(inbox.id, { labels: 'support' }).page()).total, 0)
  })

  test('does not bring back the id of a thread that was removed meanwhile', async (t) => {
    const { client, app } = world
    const inbox = await world.inbox()
    const lines = Array.from({ length: 70 }, (_, at) => {
      const raw = mailFrom('ann@a.example', `r${at}`).replaceAll('\n', '\r\n')
      return JSON.stringify({ raw: Buffer.from(raw).toString('base64'), threadId: 'same' })
    })
    let removed = ''
    let steps = 0
    t.after(
      changePart(app.deps.db, ({ write }) => ({
        write: (async (of: never, input: never) => {
          if ((of as { name: string }).name === 'addImported' && steps++ === 1) {
            removed = (await client.threads.list(inbox.id).page()).data[0]?.id ?? ''
            await client.threads.delete(removed, { permanent: true })
          }
          return write(of, input)
        }) as typeof write,
      })),
    )
    assert.equal((await imported(client, inbox.id, lines.join('\n'))).imported, 70)
    assert.match(removed, /^thr_/)
    assert.equal(await refusal(client.threads.get(removed)), '404 not_found')
    const left = (await client.messages.list(inbox.id).page()).data
    assert.equal(left.length, 20)
    await assertCounted(inbox.id)
  })

  test('takes a form with one file', async () => {
    const inbox = await world.inbox()
    const post = async (form: FormData) =>
      world.fetch(`/v1/inboxes/${inbox.id}/imports`, { method: 'POST', body: form })
    const form = new FormData()
    const mails = Array.from({ length: 500 }, (_, at) => mailFrom('a@a.example', `f${at}`))
    form.append('file', new Blob([mboxOf(...mails)], { type: 'application/mbox' }), 'in.mbox')
    const answer = await post(form)
    assert.equal(answer.status, 202)
    const { id } = (await answer.json()) as { id: string }
    assert.equal((await world.client.imports.untilDone(id)).imported, 500)
    form.append('file', new Blob(['x']), 'more')
    assert.equal(await outcomeOf(post(form)), '400 bad_request')
    const named = new FormData()
    named.append('mail', new Blob(['x']), 'in.mbox')
    assert.equal(await outcomeOf(post(named)), '400 bad_request')
    const truncated = await world.fetch(`/v1/inboxes/${inbox.id}/imports`, {
      method: 'POST',
      body: '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nFrom a@b\nSubj',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    })
    assert.equal(await outcomeOf(truncated), '400 bad_request')
  })

  test('keeps what other programs note about their mail, and counts what they had removed', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const of = (id: string, ...noted: string[]) =>
      [
        ...noted,
        'Received: from a by b; Tue, 3 Feb 2015 04:05:06 +0000',
        mailFrom('ann@a.example', id),
      ].join('\n')
    const gmail = (id: string, labels: string) =>
      of(id, `X-GM-THRID: 1${id.length}`, `X-Gmail-Labels: ${labels}`)
    const states = async () => {
      const messages = (await client.messages.list(inbox.id).page()).data
      const threads = (await client.threads.list(inbox.id).page()).data
      return Object.fromEntries(
        messages.map(({ subject, threadId, labels }) => {
          const thread = threads.find(({ id }) => id === threadId)
          assert.deepEqual(thread?.labels, labels, subject)
          return [subject, [thread?.isRead, labels.join()]]
        }),
      )
    }
    const encoded =
      '=?UTF-8?Q?Ungelesen,Posteingang,B=C3=BCro_M=C3=BCnchen,=D0=A1=D1=87=D0=B5=D1=82=D0=B0?='
    const takeout = mboxOf(
      gmail('g1', 'Inbox,Unread,Important,"Work/Big, bad",Category Updates'),
      gmail('g2', 'Archived,Opened,Starred'),
      gmail('g3', encoded),
      gmail('g4', 'Spam,Unread'),
      gmail('g5', 'Trash,Opened,Kept'),
      gmail('g6', 'Entwürfe,Opened'),
      // A sender wrote these, below the way of the mail.
      of('g7').replace('From:', 'X-Gmail-Labels: Trash\nX-Mozilla-Status: 0009\nFrom:'),
    )
    const done = await imported(client, inbox.id, new Uint8Array(gzipSync(takeout)))
    assert.deepEqual([done.status, done.imported, done.failed], ['done', 4, 0])
    const none = { trash: 0, spam: 0, draft: 0, unfinished: 0, otherFile: 0 }
    assert.deepEqual(done.skipped, { ...none, trash: 1, spam: 1, draft: 1 })
    assert.deepEqual(await states(), {
      g1: [false, 'category-updates,important,work/big-bad'],
      g2: [true, 'starred'],
      g3: [false, 'buro-munchen,xn--80aj9afx'],
      g7: [false, ''],
    })
    const thunderbird = mboxOf(
      of(
        't1',
        'X-Mozilla-Status: 0001',
        'X-Mozilla-Status2: 00000000',
        'X-Mozilla-Keys: $label1 todo',
      ),
      of('t2', 'X-Mozilla-Status: 0000'),
      of('t3', 'X-Mozilla-Status: 0009'),
      mailFrom('ann@a.example', 's1', 'Status: RO\nX-Status: AF\n'),
      mailFrom('ann@a.example', 's2', 'Status: O\n'),
      mailFrom('ann@a.example', 's3', 'Status: RO\nX-Status: D\n'),
    )
    const local = await imported(client, inbox.id, thunderbird)
    assert.deepEqual([local.imported, local.skipped], [5, { ...none, trash: 1 }])
    const after = await states()
    assert.deepEqual(
      [after.t1, after.t2, after.s1, after.s2],
      [
        [true, 'label1,todo'],
        [false, ''],
        [true, 'starred'],
        [false, ''],
      ],
    )
    const content = (id: string) => mailFrom('ann@a.example', id)
    const maildir = tarOf([
      { name: 'Maildir/tmp/1423000001.M1P1.host', content: content('d1') },
      { name: 'Maildir/cur/1423000002.M1P1.host:2,ST', content: content('d2') },
      { name: 'Maildir/cur/1423000003.M1P1.host:2,S', content: content('d3') },
      { name: 'Maildir/cur/1423000004.M1P1.host:2,D', content: content('d4') },
      { name: 'Maildir/new/1423000005.M1P1.host', content: content('d5') },
      { name: 'Maildir/readme.txt', content: 'Note: nothing here\n\nis mail' },
      { name: 'Maildir/cur/dovecot.index.cache', content: '\x01\x02' },
      { name: 'Maildir/cur/1423000006.M1P1.host:2,S', content: 'no message' },
    ])
    const archive = await imported(client, inbox.id, maildir)
    assert.deepEqual(
      [archive.status, archive.imported, archive.failures.map(({ reason }) => reason)],
      ['done', 2, ['The file is not a message.']],
    )
    assert.deepEqual(archive.skipped, { trash: 1, spam: 0, draft: 1, unfinished: 1, otherFile: 2 })
    const { d3, d5 } = await states()
    assert.deepEqual(
      [d3, d5],
      [
        [true, ''],
        [false, ''],
      ],
    )
    await assertCounted(inbox.id)
  })

  test('names messages that are broken, and goes on with the rest', async () => {
    const { client } = world
    const inbox = await world.inbox()
    const good = (id: string) => mailFrom('ann@a.example', id)
    const mbox = mboxOf(good('b1'), '', good('b2'))
    assert.deepEqual(countsOf(await imported(client, inbox.id, mbox)), {
      status: 'done',
      imported: 2,
      duplicates: 0,
      failures: ['The message is empty.'],
      error: null,
    })
    const raw = Buffer.from(good('b3').replaceAll('\n', '\r\n')).toString('base64')
    const lines = ['{"raw": 1}', '{"', JSON.stringify({ raw }), '[]', '']
    const jsonl = await imported(client, inbox.id, `{"x":"first"}\n${lines.join('\n')}`)
    assert.deepEqual(
      [jsonl.imported, jsonl.failures.map(({ number }) => number)],
      [1, [1, 2, 3, 5]],
    )
    // Within the limit of a line, so many values would fill the memory.
    const many = `{"raw":"eA==","x":[${'{},'.repeat(200_000)}{}]}`
    const bomb = await imported(client, inbox.id, `${many}\n${JSON.stringify({ raw })}`)
    assert.deepEqual(
      [bomb.duplicates, bomb.failures.map(({ reason }) => reason)],
      [1, ['The line has too many values or levels.']],
    )
    const tar = tarOf([
      { name: '../../../etc/passwd', content: good('b4') },
      { name: 'cur/link', type: '2', linkname: '/etc/passwd' },
      { name: 'cur/hard', type: '1', linkname: '/etc/passwd' },
      { name: 'cur/pipe', type: '6' },
      { name: 'x', type: 'x', content: '22 GNU.sparse.major=1\n' },
      { name: 'cur/sparse', content: good('sparse') },
      { name: '/abs/new/1', content: good('b5') },
      { name: 'cur/1423000000.M5P1.host:2,RS', content: good('b6') },
    ])
    const archive = await imported(client, inbox.id, tar)
    assert.deepEqual(
      [archive.status, archive.imported, archive.failures.map(({ name }) => name)],
      ['done', 3, ['cur/link', 'cur/hard', 'cur/pipe', 'cur/sparse']],
    )
    const entries = [
      { name: 'cur/1', content: good('b7') },
      { name: 'cur/2', content: good('b8') },
    ]
    const cut = tarOf(entries, { ends: false }).slice(0, -600)
    const truncated = await imported(client, inbox.id, cut)
    assert.deepEqual(
      [truncated.status, truncated.error, truncated.imported],
      ['failed', 'file_unreadable', 1],
    )
    const wide = { name: 'pax', type: 'x', content: '5 a=\n'.repeat(4_000) }
    const late = await imported(client, inbox.id, tarOf([wide, ...entries]))
    assert.deepEqual([late.status, late.error], ['failed', 'file_unreadable'])
    await assertCounted(inbox.id)
  })

  test('proves nothing to the guards of a policy, and is no deed of an approver', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const approver = await client.approvers.create({ name: 'Ann' })
    const asApprover = world.clientWith(approver.token)
    await asApprover.policy.replace({
      outbound: {
        mode: 'none',
        rules: [],
        guards: { newRecipients: 'hold', outsideThread: 'hold' } as never,
      },
    })
    const file = (id: string) => mboxOf(mailFrom('eve@e.example', id))
    await imported(client, inbox.id, file('g1'))
    const [message] = (await client.messages.list(inbox.id).page()).data
    const reply = { threadId: message?.threadId ?? '', to: 'eve@e.example', body: 'Hi' }
    const check = async () => {
      const { reasons } = await client.inboxes.checkSend(inbox.id, reply as never)
      return reasons.map(({ guard }) => guard).toSorted()
    }
    assert.deepEqual(await check(), ['newRecipients', 'outsideThread'])
    const answer = await fetch(`${world.baseUrl}/v1/inboxes/${inbox.id}/imports`, {
      method: 'POST',
      body: file('g2'),
      headers: { authorization: `Bearer ${approver.token}`, 'content-type': 'application/mbox' },
    })
    assert.equal(answer.status, 403)
  })
})

onAnyEngine('the file of an import', (engine) => {
  const world = opened(() => openTenant(engine))

  test('is read under its lease, however long it takes to come to a message', async (t) => {
    const { client, app, clock } = world
    const { blobs } = app.deps
    assert.ok(blobs !== null)
    const inbox = await world.inbox()
    const leftMs: number[] = []
    const leasesMs = async () => {
      const rows = await runSql(world, "select due_at from jobs where kind = 'transfer'")
      return rows.map(({ due_at }) => Number(due_at) - clock.now())
    }
    t.after(
      changePart(blobs, ({ get }) => ({
        async get(id) {
          const [before = 0] = await leasesMs()
          leftMs.push(before)
          clock.advance(25_000)
          await until(async () => (await leasesMs()).some((ms) => ms > 45_000))
          return get(id)
        },
      })),
    )
    const raw = Buffer.from(mailFrom('ann@a.example', 'late')).toString('base64')
    const file = JSON.stringify({ x: 'x'.repeat(4 * MIB), raw })
    assert.equal((await imported(client, inbox.id, file)).imported, 1)
    assert.equal(leftMs.length, 5)
    assert.ok(Math.min(...leftMs) > 0, `${leftMs}`)
  })
})

const ANSWER =
  'From: Ann <ann@a.example>\r\nSubject: answer\r\nMessage-ID: <m9@x.example>\r\nIn-Reply-To: <m2@x.example>\r\n\r\nText\r\n'
