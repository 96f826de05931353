import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { Message, Upload } from '@mailroom/sdk'
import { runSql } from '#test/peers/sql.ts'
import { deliver } from '#test/scenarios/deliver.ts'
import { refusalOf, until } from '#test/scenarios/outcomes.ts'
import {
  arrived,
  openSendingTenant,
  readMail,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened, openWorld, plainMail, type World } from '#test/world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MIB = 1024 * 1024
/** Several chunks, of which the last is short. */
const REPORT = randomBytes(2 * MIB + 12_345)
const NOTE = new TextEncoder().encode('one\ntwo\n')

const run = promisify(execFile)
const sha256 = (content: Uint8Array) => hash('sha256', content)

onEachEngine('an upload', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  const uploadNote = (filename = 'note.txt') =>
    world.client.uploads.create(new Uint8Array(NOTE), { filename })
  /** The content of each file, as the service has stored it. */
  const contentsOf = async ({ attachments }: Pick<Message, 'attachments'>) =>
    Promise.all(
      attachments.map(async ({ url }) => Buffer.from(await (await fetch(url)).arrayBuffer())),
    )
  const countRows = async (id: string) => {
    const chunks = await runSql(world, `select id from transfer_chunks where transfer_id = '${id}'`)
    const rows = await runSql(world, `select id from uploads where id = '${id}'`)
    return [rows.length, chunks.length]
  }
  const untilNoBlobs = ({ app }: World) =>
    until(async () => (await Array.fromAsync(app.deps.blobs?.list() ?? [])).length === 0)
  const raw = (path: string, init: RequestInit) => world.fetch(path, { method: 'POST', ...init })

  test('is sent byte for byte, as often as it is named', async () => {
    const inbox = await world.inbox()
    const upload = await world.client.uploads.create(new Blob([REPORT]), {
      filename: 'report.pdf',
    })
    assert.equal(upload.contentType, 'application/pdf')
    assert.deepEqual([upload.sizeBytes, upload.sha256], [REPORT.length, sha256(REPORT)])
    assert.equal(Date.parse(upload.expiresAt) > world.clock.now() + 23 * HOUR_MS, true)
    assert.deepEqual(await world.client.uploads.get(upload.id), upload)
    const attachments = [
      { uploadId: upload.id },
      { uploadId: upload.id, filename: 'copy.bin', contentType: 'application/x-copy' },
    ]
    const sent = await send(world, inbox, { attachments })
    const message = await settled(world, sent)
    assert.deepEqual(
      message.attachments.map(({ filename, contentType }) => [filename, contentType]),
      [
        ['report.pdf', 'application/pdf'],
        ['copy.bin', 'application/x-copy'],
      ],
    )
    for (const content of await contentsOf(message)) assert.ok(content.equals(REPORT))
    const mail = await readMail((await arrived(world, sent)).raw)
    for (const { content } of mail.attachments) {
      assert.ok(Buffer.from(content as ArrayBuffer).equals(REPORT))
    }
  })

  test('is a body or a form, whose headers say what the file is', async () => {
    const plain = await raw('/v1/uploads?filename=a.bin', {
      body: NOTE,
      headers: { 'content-type': 'Text/CSV; charset=utf-8' },
    })
    assert.equal(plain.status, 201)
    assert.equal(((await plain.json()) as Upload).contentType, 'text/csv')
    const form = new FormData()
    form.set('file', new File([NOTE], 'Grüße.html', { type: 'text/html' }))
    const formed = (await (await raw('/v1/uploads', { body: form })).json()) as Upload
    assert.deepEqual(
      [formed.filename, formed.contentType, formed.sha256],
      ['Grüße.html', 'text/html', sha256(NOTE)],
    )
    const named = (await (await raw('/v1/uploads?filename=b.png', { body: form })).json()) as Upload
    assert.deepEqual([named.filename, named.contentType], ['b.png', 'text/html'])
    const guessed = await raw('/v1/uploads?filename=c.png', {
      body: NOTE,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    assert.equal(((await guessed.json()) as Upload).contentType, 'image/png')
    const empty = (await (await raw('/v1/uploads?filename=d', {})).json()) as Upload
    assert.deepEqual([empty.sizeBytes, empty.contentType], [0, 'application/octet-stream'])
    const unnamed = await refusalOf(world.client.uploads.create(new Uint8Array(NOTE)))
    assert.match(unnamed.message, /"filename" is required/)
  })

  test('is refused where it has ended, with the entry that names it', async () => {
    const inbox = await world.inbox()
    const [kept, deleted] = [await uploadNote(), await uploadNote()]
    await world.client.uploads.delete(deleted.id)
    await assert.rejects(world.client.uploads.get(deleted.id), { code: 'not_found' })
    assert.deepEqual(await countRows(deleted.id), [0, 0])
    const link = await world.client.uploads.createLink({ filename: 'a.txt' })
    const { client: stranger } = await world.newAccount()
    const foreign = await stranger.uploads.create(new Uint8Array(NOTE), { filename: 'a.txt' })
    for (const uploadId of [deleted.id, link.id, foreign.id, 'upl_none']) {
      const attachments = [{ uploadId: kept.id }, { uploadId }]
      const error = await refusalOf(send(world, inbox, { attachments }))
      assert.deepEqual(
        [error.code, error.details?.[0]?.path],
        ['bad_request', 'attachments[1].uploadId'],
      )
      const checked = { to: 'bob@friend.example', subject: 'A', body: 'A', attachments }
      const inCheck = await refusalOf(world.client.inboxes.checkSend(inbox.id, checked))
      assert.equal(inCheck.details?.[0]?.path, 'attachments[1].uploadId')
      const { data } = await world.client.inboxes.sendBatch(inbox.id, [checked])
      assert.equal(data[0]?.status, 400)
    }
    const draft = await world.client.drafts.create(inbox.id)
    const added = await refusalOf(
      world.client.drafts.addAttachment(draft.id, { uploadId: deleted.id }),
    )
    assert.deepEqual([added.code, added.details?.[0]?.path], ['bad_request', 'uploadId'])
    for (const attachment of [
      { uploadId: kept.id, data: 'aGk=' },
      { messageId: 'msg_1', filename: 'a', data: 'aGk=' },
      { messageId: 'msg_1' },
      { filename: 'a.txt', contentType: 'text/plain' },
    ]) {
      const response = await world.fetch(`/v1/inboxes/${inbox.id}/send/check`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          to: 'a@b.example',
          subject: 'A',
          body: 'A',
          attachments: [attachment],
        }),
      })
      assert.equal(response.status, 400, JSON.stringify(attachment))
    }
  })

  test('stays in drafts and messages after its end', async () => {
    const inbox = await world.inbox()
    const upload = await uploadNote()
    const draft = await world.client.drafts.create(inbox.id, {
      to: 'bob@friend.example',
      subject: 'Later',
      body: 'See the note.',
      attachments: [{ uploadId: upload.id }],
    })
    await world.client.drafts.addAttachment(draft.id, { uploadId: upload.id, filename: 'b.txt' })
    const attachments = [{ uploadId: upload.id }]
    const sendAt = new Date(world.clock.now() + 48 * HOUR_MS).toISOString()
    const later = await send(world, inbox, { attachments, sendAt })
    await world.client.uploads.delete(upload.id)
    const sent = await settled(world, await world.client.drafts.send(draft.id))
    assert.deepEqual(
      sent.attachments.map(({ filename }) => filename),
      ['note.txt', 'b.txt'],
    )
    for (const content of await contentsOf(sent)) assert.ok(content.equals(NOTE))
    const [kept] = await contentsOf(await world.client.messages.get(later.messageId))
    assert.ok(kept?.equals(NOTE))
  })

  test('and a file of a message are attached to a forward, without a copy by the client', async () => {
    const inbox = await world.inbox()
    const received = await deliver(
      world,
      inbox,
      plainMail({
        from: 'ann@friend.example',
        to: inbox.address,
        subject: 'Files',
        messageId: `<files.${inbox.id}@friend.example>`,
        headers: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=m'],
        body: [
          '--m\r\nContent-Type: text/plain\r\n\r\nHello\r\n',
          '--m\r\nContent-Type: text/csv; name=a.csv\r\nContent-Disposition: attachment\r\n\r\none\r\n',
          '--m\r\nContent-Type: text/html; name=a.csv\r\nContent-Disposition: attachment\r\n\r\ntwo\r\n',
          '--m--',
        ].join(''),
      }),
    )
    const names = received.attachments.map(({ filename }) => filename)
    assert.deepEqual(names, ['a.csv', 'a (2).csv'])
    const file = { messageId: received.id, filename: 'a (2).csv' }
    const attachments = [file, { uploadId: (await uploadNote()).id }, file]
    const sent = await settled(world, await send(world, inbox, { attachments }))
    const contents = (await contentsOf(sent)).map(String)
    assert.deepEqual(contents, ['two', 'one\ntwo\n', 'two'])
    assert.equal(sent.attachments[0]?.contentType, 'text/html')
    const forwarded = await settled(
      world,
      await world.client.messages.forward(received.id, { to: 'bob@friend.example', attachments }),
    )
    assert.deepEqual((await contentsOf(forwarded)).map(String), [
      'one',
      'two',
      'two',
      'one\ntwo\n',
      'two',
    ])
    const { client: stranger } = await world.newAccount()
    const own = await stranger.inboxes.create()
    for (const [filename, path, client, from] of [
      ['none.csv', 'filename', world.client, inbox],
      ['a.csv', 'messageId', stranger, own],
    ] as const) {
      const given = { messageId: received.id, filename }
      const error = await refusalOf(send({ client }, from, { attachments: [given] }))
      assert.deepEqual(
        [error.code, error.details?.[0]?.path],
        ['bad_request', `attachments[0].${path}`],
      )
    }
  })

  test('expires after a day, with its content', async () => {
    await using apart = await openWorld(engine)
    const upload = await apart.client.uploads.create(new Uint8Array(REPORT), { filename: 'a' })
    apart.clock.advance(24 * HOUR_MS + 1_000)
    await assert.rejects(apart.client.uploads.get(upload.id), { code: 'not_found' })
    const { deps } = apart.app
    const { purgeUploads } = await import('#uploads/uploads.ts')
    await purgeUploads(deps, new AbortController().signal)
    const left = await runSql(apart, 'select id from transfer_chunks')
    assert.equal(left.length, 0)
    // The service may have begun to remove it by itself.
    await untilNoBlobs(apart)
  })

  test('that breaks off, is too large or too much leaves nothing behind', async () => {
    await using small = await openWorld(engine, {
      env: { MAILROOM_LIMIT_UPLOADED_BYTES_PER_ACCOUNT: String(3 * MIB) },
    })
    const { client } = small
    const first = await client.uploads.create(new Uint8Array(REPORT), { filename: 'a' })
    await assert.rejects(client.uploads.create(new Uint8Array(REPORT), { filename: 'b' }), {
      code: 'upload_limit_reached',
      fix: /MAILROOM_LIMIT_UPLOADED_BYTES_PER_ACCOUNT/,
    })
    // Without a declared size, the limit is found on the way.
    const streamed = await small.fetch('/v1/uploads?filename=c', {
      method: 'POST',
      body: new Blob([REPORT]).stream(),
      duplex: 'half',
    } as RequestInit)
    assert.equal(streamed.status, 422)
    await client.uploads.delete(first.id)
    const declared = await small.fetch('/v1/uploads?filename=d', {
      method: 'POST',
      body: new Uint8Array(26 * MIB),
    })
    assert.equal(declared.status, 413)
    const socket = connect({ port: Number(new URL(small.baseUrl).port), host: '127.0.0.1' })
    await once(socket, 'connect')
    socket.write(
      `POST /v1/uploads?filename=e HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${small.key}\r\nContent-Length: ${2 * MIB}\r\n\r\n`,
    )
    socket.write(new Uint8Array(MIB + 1))
    const find = async () => (await runSql(small, 'select id from transfer_chunks')).length
    while ((await find()) === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    socket.destroy()
    while ((await runSql(small, 'select id from uploads')).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.equal(await find(), 0)
    await untilNoBlobs(small)
  })

  test('through a link takes one file without a key, as curl sends it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'uploads-'))
    try {
      const path = join(folder, 'anything.bin')
      await writeFile(path, REPORT)
      const link = await world.client.uploads.createLink({ filename: 'report.pdf' })
      assert.ok(link.url.startsWith(`${world.baseUrl}/v1/uploads/${link.id}/file?expires=`))
      await assert.rejects(world.client.uploads.get(link.id), { code: 'not_found' })
      const { stdout } = await run('curl', ['-sS', '-T', path, link.url])
      const upload = JSON.parse(stdout) as Upload
      assert.deepEqual(
        [upload.id, upload.filename, upload.contentType, upload.sha256],
        [link.id, 'report.pdf', 'application/pdf', sha256(REPORT)],
      )
      assert.deepEqual(await world.client.uploads.get(link.id), upload)
      const again = JSON.parse((await run('curl', ['-sS', '-T', path, link.url])).stdout)
      assert.equal(again.error, 'upload_link_used')
      assert.match(again.message, /already arrived/)
      const posted = await world.client.uploads.createLink({ filename: 'b', contentType: 'a/b' })
      const form = JSON.parse(
        (await run('curl', ['-sS', '-F', `file=@${path}`, posted.url])).stdout,
      )
      assert.deepEqual(
        [form.filename, form.contentType, form.sizeBytes],
        ['b', 'a/b', REPORT.length],
      )
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  const put = (url: string, body: RequestInit['body'] = NOTE) => fetch(url, { method: 'PUT', body })
  const codeOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: string }
    return `${response.status} ${error}`
  }

  test('through a link is bound to its id, size, time and key', async () => {
    const link = await world.client.uploads.createLink({ filename: 'a.txt', maxBytes: 4 })
    assert.equal(await codeOf(await put(link.url)), '413 payload_too_large')
    const other = await world.client.uploads.createLink({ filename: 'b.txt' })
    assert.equal(
      await codeOf(await put(link.url.replace(link.id, other.id))),
      '403 invalid_signature',
    )
    assert.equal(await codeOf(await put(link.url.replace(/\?.*/, ''))), '403 invalid_signature')
    // A file that was refused does not use up the link.
    assert.equal((await put(link.url, 'abcd')).status, 201)
    await world.client.uploads.delete(other.id)
    assert.equal(await codeOf(await put(other.url)), '404 not_found')
    const { token, id: keyId } = await world.client.apiKeys.create()
    const revoked = await world.clientWith(token).uploads.createLink({ filename: 'c' })
    await world.client.apiKeys.delete(keyId)
    assert.equal(await codeOf(await put(revoked.url)), '403 invalid_signature')
    await using apart = await openWorld(engine)
    const late = await apart.client.uploads.createLink({ filename: 'd' })
    apart.clock.advance(16 * MINUTE_MS)
    assert.equal(await codeOf(await put(late.url)), '403 invalid_signature')
  })

  test('through a link is taken again two minutes after the service failed in its middle', async () => {
    await using apart = await openWorld(engine)
    const link = await apart.client.uploads.createLink({ filename: 'a.txt' })
    const endsAt = apart.clock.now() + 15 * MINUTE_MS
    await runSql(
      apart,
      `update uploads set status = 'receiving', size_bytes = 5, expires_at = ${endsAt} where id = '${link.id}'`,
    )
    assert.equal(await codeOf(await put(link.url)), '409 upload_link_used')
    apart.clock.advance(2 * MINUTE_MS + 1_000)
    assert.equal((await put(link.url)).status, 201)
    assert.equal((await apart.client.uploads.get(link.id)).sizeBytes, NOTE.length)
  })

  test('has the name and the media type that recipients will see', async () => {
    const created = async (name: string) => {
      const path = `/v1/uploads?filename=${encodeURIComponent(name)}`
      const response = await world.fetch(path, { method: 'POST', body: 'x' })
      return ((await response.json()) as Upload).filename
    }
    assert.equal(await created('../../etc/passwd'), 'passwd')
    assert.equal(await created('x\r\ny: z.txt'), 'xy: z.txt')
    const contentType = 'multipart/mixed; boundary=q'
    const link = await world.client.uploads.createLink({ filename: 'a', contentType })
    await put(link.url)
    const { contentType: shown } = await world.client.uploads.get(link.id)
    assert.equal(shown, 'application/octet-stream')
  })

  test('through a link is one of two that arrive at once', async () => {
    const link = await world.client.uploads.createLink({ filename: 'a.txt' })
    const answers = await Promise.all(Array.from({ length: 4 }, () => put(link.url, REPORT)))
    const statuses = answers.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [201, 409, 409, 409])
  })

  test('ends with the erasure of an address, which it may contain', async () => {
    const upload = await uploadNote()
    const { id } = await world.client.erasures.create({ address: 'eve@spam.example' })
    const { removed } = await world.client.erasures.untilDone(id)
    assert.ok(removed.files > 0)
    await assert.rejects(world.client.uploads.get(upload.id), { code: 'not_found' })
    assert.deepEqual(await countRows(upload.id), [0, 0])
  })

  test('is judged by the guards like a file in the request', async () => {
    const inbox = await world.inbox()
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${'A'.repeat(64)}\n-----END RSA PRIVATE KEY-----\n`
    const upload = await world.client.uploads.create(new Uint8Array(Buffer.from(key)), {
      filename: 'note.txt',
    })
    await world.client.policy.replace(
      { outbound: { guards: { secrets: 'reject' } } },
      { inboxId: inbox.id },
    )
    const error = await refusalOf(send(world, inbox, { attachments: [{ uploadId: upload.id }] }))
    assert.equal(error.code, 'content_not_permitted')
  })
})
