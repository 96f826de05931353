import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import type { MessageToSend } from '@mailroom/sdk'
import fc from 'fast-check'
import { deliver } from '#test/scenarios/deliver.ts'
import { onEachEngine, opened, openTenant, plainMail } from '#test/world.ts'

/** The recipe of docs/reviews.md, whose own programs are tested with its examples. */
function digestOf(value: unknown): string {
  const canonical = (one: unknown): string => {
    if (Array.isArray(one)) return `[${one.map(canonical).join()}]`
    if (typeof one !== 'object' || one === null) return JSON.stringify(one)
    const members = Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, of]) => `${JSON.stringify(name)}:${canonical(of)}`).join()}}`
  }
  return sha256(canonical(value))
}

function sha256(of: string | Uint8Array): string {
  return createHash('sha256').update(of).digest('hex')
}

onEachEngine('the digest of a held send', (engine) => {
  const world = opened(() => openTenant(engine))

  test('is that of what its approver reads, and of what was asked for', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create({ displayName: 'Ann "A." Lee, sales' })
    const { token } = await client.approvers.create({ name: 'Ann' })
    const ann = world.clientWith(token)
    const outbound = { guards: { newRecipients: 'hold' } } as const
    await ann.policy.replace({ outbound }, { inboxId: inbox.id })
    const raw = plainMail({
      to: inbox.address,
      messageId: '<asked@sender.example>',
      body: 'Größe?\r\n-- \r\nAnn',
    })
    const { threadId } = await deliver({ ...world, client }, inbox, raw)
    const text = fc.string({ unit: 'binary', maxLength: 60 }).map((any) => any.replaceAll('\0', ''))
    const file = fc.record({
      filename: fc.constantFrom('Größe.bin', 'a.png', 'A.PNG', '../x.txt'),
      contentType: fc.constantFrom('image/png', 'text/plain; charset=utf-8', 'message/rfc822'),
      contentId: fc.constantFrom('logo@here', undefined),
      data: fc.uint8Array({ maxLength: 50 }),
    })
    const sends = fc.record(
      {
        body: text.map((any) => `A ${any}`),
        subject: text.map((any) => `A ${any.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, '')}`),
        bodyHtml: text.map((any) => `<p>${any}</p>`),
        cc: fc.constantFrom(['cat@copied.example'], ['"Lee, Cat" <cat@copied.example>']),
        bcc: fc.constant(['dan@hidden.example']),
        replyTo: fc.constant('Desk <desk@friend.example>'),
        headers: fc.constant({ 'X-b': '1', 'X-A': 'Zürich' }),
        threadId: fc.constant(threadId),
        isAutomatic: fc.boolean(),
        attachments: fc.array(file, { maxLength: 4 }),
      },
      { requiredKeys: ['body', 'subject'] },
    )
    await fc.assert(
      fc.asyncProperty(sends, async (fields) => {
        const asked = { to: 'bob@friend.example', ...fields } as MessageToSend
        const { hold, messageId } = await client.inboxes.send(inbox.id, asked)
        assert.ok(hold !== undefined)
        const { content, digest } = await ann.reviews.get(hold.id)
        assert.equal(digest, hold.digest)
        assert.equal(`v2:${digestOf(content)}`, digest)
        const message = await client.messages.get(messageId)
        assert.deepEqual(
          [content.to, content.cc, content.bcc, content.subject, content.bodyText],
          [
            ['bob@friend.example'],
            fields.cc ?? [],
            fields.bcc ?? [],
            message.subject,
            message.bodyText,
          ],
        )
        // The files that the recipient finds, under the names by which they can be fetched.
        const files = message.attachments.map(async ({ filename, contentType, url }) => {
          const response = await fetch(url)
          const bytes = new Uint8Array(await response.arrayBuffer())
          assert.equal(response.status, 200, new TextDecoder().decode(bytes))
          return { filename, contentType, sha256: sha256(bytes) }
        })
        const listed = content.attachments.map(({ contentId: _, contentType, ...file }) => ({
          ...file,
          contentType: contentType.split(';')[0],
        }))
        assert.deepEqual(listed, await Promise.all(files))
        assert.deepEqual(
          [content.sendAt, content.unsubscribe, content.isAutomatic],
          [null, false, fields.isAutomatic ?? false],
        )
        const asGiven = (fields.attachments ?? []).map(({ data }) => sha256(data))
        const told = content.attachments.map((one) => one.sha256)
        assert.deepEqual(told.toSorted(), asGiven.toSorted())
      }),
      { numRuns: sizeOf('TEST_MAILROOM_HELD_DIGESTS', { quick: 8, usual: 25 }) },
    )
  })
})
