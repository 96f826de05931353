import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { ReviewContent } from '@mailroom/contract/reviews.ts'
import type { MessageToSend } from '@mailroom/sdk'
import { untilReadable } from '#test/scenarios/event-world.ts'
import { countOutcomes, refusal, until } from '#test/scenarios/outcomes.ts'
import { digestOf } from '#test/scenarios/review-world.ts'
import {
  arrived,
  fieldOf,
  openSendingTenant,
  send,
  settled,
} from '#test/scenarios/sending-world.ts'
import { changePart, onEachEngine, opened } from '#test/world.ts'

onEachEngine('an approver who edits held mail', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  /** An account whose policy holds mail to strangers, and one send of it that is held. */
  async function held(fields: Partial<MessageToSend> = {}) {
    const account = await world.newAccount()
    const approver = await account.client.approvers.create({ name: 'Ann' })
    const inbox = await account.client.inboxes.create()
    const asApprover = world.clientWith(approver.token)
    await asApprover.policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const by = { ...account, approver, asApprover, inbox }
    const sent = await send(by, inbox, { to: 'stranger@friend.example', ...fields })
    assert.ok(sent.hold !== undefined)
    return { ...by, sent, review: sent.hold }
  }

  test('sends what was edited and approved, in its thread, and under the same Message-ID', async () => {
    const files = ['a', 'b'].map((name) => ({
      filename: `${name}.txt`,
      contentType: 'text/plain',
      data: Buffer.from(`file ${name}`),
    }))
    const { client, asApprover, approver, sent, review } = await held({
      cc: ['Cy <cy@friend.example>'],
      subject: 'The old subject',
      body: 'The secret plan.',
      bodyHtml: '<p>The secret plan.</p>',
      attachments: files,
      headers: { 'X-Case': '7' },
    })
    const edited = await asApprover.reviews.edit(review.id, {
      digest: review.digest,
      to: ['Mia <mia@friend.example>'],
      subject: 'The new subject',
      body: 'No plan.',
      removeAttachments: ['b.txt'],
    })
    assert.notEqual(edited.digest, review.digest)
    assert.equal(edited.digest, digestOf(edited.content))
    assert.deepEqual(
      edited.reasons.map(({ recipient }) => recipient),
      ['mia@friend.example', 'cy@friend.example'],
    )
    const [version] = edited.versions
    assert.deepEqual(version?.changed, ['to', 'subject', 'body', 'bodyHtml', 'attachments'])
    assert.deepEqual([version?.digest, version?.editedBy], [review.digest, approver.id])
    assert.equal(version?.content.bodyText, 'The secret plan.')
    assert.equal(digestOf(version?.content as ReviewContent), review.digest)
    const stale = asApprover.reviews.approve(review.id, { digest: review.digest })
    assert.equal(await refusal(stale), '409 review_changed')
    const seen = await client.threads.get(sent.threadId)
    assert.deepEqual([seen.subject, seen.snippet], ['The new subject', 'No plan.'])
    await asApprover.reviews.approve(review.id, { digest: edited.digest })
    const { raw, recipients } = await arrived(world, sent)
    assert.deepEqual(recipients.toSorted(), ['cy@friend.example', 'mia@friend.example'])
    const text = raw.toString()
    assert.equal(fieldOf(raw, 'To'), 'Mia <mia@friend.example>')
    assert.equal(fieldOf(raw, 'Subject'), 'The new subject')
    assert.equal(fieldOf(raw, 'X-Case'), '7')
    assert.match(text, /No plan\./)
    assert.doesNotMatch(text, /secret plan|b\.txt/)
    assert.match(text, new RegExp(Buffer.from('file a').toString('base64')))
    const message = await client.messages.get(sent.messageId)
    assert.deepEqual([message.bodyText, message.bodyHtml], ['No plan.', ''])
    assert.deepEqual(
      message.attachments.map(({ filename }) => filename),
      ['a.txt'],
    )
    await untilReadable(world)
    const { data } = await client.events.list({ limit: 100 }).page()
    const told = data.find((event) => event.event === 'message.review_edited')
    assert.deepEqual(told?.review.changed, version?.changed)
    assert.equal(told?.review.digest, edited.digest)
    const audit = (await asApprover.policy.audit({ decision: 'edited' }).page()).data
    assert.deepEqual(
      audit.map(({ reviewId, note }) => [reviewId, note]),
      [[review.id, 'to, subject, body, bodyHtml, attachments']],
    )
  })

  test('keeps the quote and the fields of a reply, unless the body is edited', async () => {
    const by = await held({ subject: 'Plans', body: 'The first.' })
    const { asApprover, client, inbox, sent } = by
    const { digest } = by.review
    await asApprover.reviews.approve(by.review.id, { digest, allowRecipients: true })
    await settled(by, sent)
    const to = ['stranger@friend.example', 'new@friend.example']
    const fields = { threadId: sent.threadId, to, body: 'The second.', subject: undefined }
    const reply = await send(by, inbox, fields)
    assert.ok(reply.hold !== undefined)
    const before = await asApprover.reviews.get(reply.hold.id)
    assert.match(before.content.bodyText, /The second\.[\s\S]*> The first\./)
    const removed = await asApprover.reviews.edit(reply.hold.id, {
      digest: reply.hold.digest,
      to: 'stranger@friend.example',
    })
    assert.deepEqual(removed.reasons, [])
    assert.equal(removed.content.bodyText, before.content.bodyText)
    assert.equal(removed.content.inReplyTo, sent.providerMessageId)
    await asApprover.reviews.approve(reply.hold.id, { digest: removed.digest })
    const { raw } = await arrived(world, reply)
    assert.equal(fieldOf(raw, 'In-Reply-To'), sent.providerMessageId)
    assert.equal(fieldOf(raw, 'References'), sent.providerMessageId)
    assert.equal(fieldOf(raw, 'Subject'), 'Re: Plans')
    assert.match(raw.toString(), /> The first\./)
    assert.equal((await client.threads.get(sent.threadId)).subject, 'Plans')
  })

  test('leaves the time of a scheduled message as it was', async () => {
    const sendAt = new Date(world.clock.now() + 3_600_000).toISOString()
    const { asApprover, client, inbox, review, sent } = await held({ sendAt })
    const { digest } = review
    const edited = await asApprover.reviews.edit(review.id, { digest, subject: 'Later' })
    assert.equal(edited.content.sendAt, sendAt)
    await asApprover.reviews.approve(review.id, { digest: edited.digest })
    const { data } = await client.inboxes.scheduled(inbox.id).page()
    assert.deepEqual(
      data.map(({ id, subject, scheduledAt }) => [id, subject, scheduledAt]),
      [[sent.messageId, 'Later', sendAt]],
    )
  })

  test('is refused what the policy refuses, and the message stays as it was', async () => {
    const { asApprover, inbox, review } = await held()
    const before = await asApprover.reviews.get(review.id)
    const scope = { inboxId: inbox.id }
    const rule = { direction: 'outbound', type: 'block', value: 'bad@friend.example' } as const
    await asApprover.policy.createRule(rule, scope)
    const { digest } = review
    const edit = (fields: object) => asApprover.reviews.edit(review.id, { digest, ...fields })
    assert.equal(await refusal(edit({ to: 'bad@friend.example' })), '403 recipient_not_permitted')
    assert.equal(await refusal(edit({ bodyHtml: '<p>a</p>' })), '400 bad_request')
    assert.equal(await refusal(edit({ removeAttachments: ['no.txt'] })), '400 bad_request')
    const many = Array.from({ length: 51 }, (_, index) => `r${index}@friend.example`)
    assert.equal(
      await refusal(edit({ to: many.slice(0, 50), bcc: many.slice(50) })),
      '400 bad_request',
    )
    await edit({ to: 'stranger@friend.example' })
    assert.deepEqual(await asApprover.reviews.get(review.id), before)
  })

  test('is an approver, and adds no file and no suppressed recipient; what is gone is not edited', async () => {
    const { asApprover, client, sent, review } = await held({ unsubscribe: true })
    const { digest } = review
    const edit = (fields: object, by = asApprover) =>
      by.reviews.edit(review.id, { digest, ...fields })
    assert.equal(await refusal(edit({ subject: 'By a key' }, client)), '403 approver_required')
    const file = { filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' }
    assert.equal(await refusal(edit({ attachments: [file] })), '400 bad_request')
    await client.suppressions.create({ address: 'gone@friend.example' })
    assert.equal(await refusal(edit({ to: 'gone@friend.example' })), '422 recipient_suppressed')
    // An unsubscribe link is for one recipient.
    assert.equal(await refusal(edit({ cc: ['cy@friend.example'] })), '400 bad_request')
    await client.messages.cancel(sent.messageId)
    assert.equal(await refusal(edit({ subject: 'Late' })), '409 review_decided')
  })

  test('changes what search finds, what the storage counts, and what the message equals', async () => {
    const data = Buffer.from('the same bytes')
    const files = ['one.txt', 'two.txt'].map((filename) => ({
      filename,
      contentType: 'text/plain',
      data,
    }))
    const fields = { body: 'An apricot.', attachments: files }
    const { asApprover, client, inbox, sent, review, ...by } = await held(fields)
    const twin = await send({ ...by, client }, inbox, { to: 'stranger@friend.example', ...fields })
    assert.equal((await client.reviews.get(review.id)).equalCount, 2)
    const found = async (q: string) =>
      (await client.inboxes.search(inbox.id, { q }).page()).data.map(({ messageId }) => messageId)
    assert.deepEqual(await found('apricot'), [twin.messageId, sent.messageId])
    const before = (await client.stats.get()).storedBytes
    const edited = await asApprover.reviews.edit(review.id, {
      digest: review.digest,
      body: 'A blueberry.',
      removeAttachments: ['one.txt'],
    })
    assert.equal(edited.digest, digestOf(edited.content))
    assert.deepEqual(
      edited.content.attachments.map(({ filename }) => filename),
      ['two.txt'],
    )
    assert.equal(edited.equalCount, 1)
    assert.deepEqual(await found('apricot'), [twin.messageId])
    assert.deepEqual(await found('blueberry'), [sent.messageId])
    assert.deepEqual(await found('one.txt'), [twin.messageId])
    const sizeOf = async (id: string) => (await client.messages.raw(id)).content.length
    const versionBytes = Buffer.byteLength(JSON.stringify(edited.versions))
    const change = (await sizeOf(sent.messageId)) - (await sizeOf(twin.messageId)) + versionBytes
    assert.equal((await client.stats.get()).storedBytes, before + change)
    await asApprover.reviews.approve(review.id, { digest: edited.digest })
    const { raw } = await arrived(world, sent)
    assert.ok(raw.includes('two.txt') && !raw.includes('one.txt'))
  })

  test('races approvals, rejections and other edits by the digest: one of them counts', async () => {
    const { asApprover, sent, review } = await held()
    const { digest } = review
    const outcomes = await countOutcomes([
      ...Array.from({ length: 4 }, (_, index) =>
        asApprover.reviews.edit(review.id, { digest, subject: `Edit ${index}` }),
      ),
      asApprover.reviews.approve(review.id, { digest }),
    ])
    assert.equal(outcomes.done, 1, JSON.stringify(outcomes))
    const now = await asApprover.reviews.get(review.id)
    if (now.status === 'pending') {
      assert.equal(now.versions.length, 1)
      assert.equal(now.digest, digestOf(now.content))
      await asApprover.reviews.approve(review.id, { digest: now.digest })
    }
    const { raw } = await arrived(world, sent)
    assert.equal(fieldOf(raw, 'Subject'), now.content.subject)
    const late = asApprover.reviews.edit(review.id, { digest, subject: 'Late' })
    assert.equal(await refusal(late), '409 review_decided')
  })

  test('gets 409 if another edit replaces the message while its files are read', async () => {
    const { blobs } = world.app.deps
    if (blobs === null) return
    const type = { filename: 'a.bin', contentType: 'application/octet-stream' }
    for (const decide of ['edit', 'approve'] as const) {
      const data = randomBytes(300_000)
      const { asApprover, review } = await held({ attachments: [{ ...type, data }] })
      const { digest } = review
      let isFirst = true
      const restore = changePart(blobs, (own) => ({
        async get(id) {
          if (isFirst) {
            isFirst = false
            await asApprover.reviews.edit(review.id, { digest, subject: 'First' })
            await until(async () => (await own.get(id)) === null)
          }
          return own.get(id)
        },
      }))
      const late = asApprover.reviews[decide](review.id, { digest })
      assert.equal(await refusal(late), '409 review_changed')
      restore()
    }
  })

  test('gets 409 if edits change the message and change it back while its files are read', async () => {
    const { blobs } = world.app.deps
    if (blobs === null) return
    const type = { filename: 'a.bin', contentType: 'application/octet-stream' }
    for (const decide of ['edit', 'approve'] as const) {
      const data = randomBytes(300_000)
      const by = await held({ subject: 'Offer', attachments: [{ ...type, data }] })
      const { asApprover, review } = by
      const { digest } = review
      let isFirst = true
      const restore = changePart(blobs, (own) => ({
        async get(id) {
          const content = await own.get(id)
          if (!isFirst) return content
          isFirst = false
          const edited = await asApprover.reviews.edit(review.id, { digest, subject: 'Other' })
          const asked = { digest: edited.digest, subject: 'Offer' }
          assert.equal((await asApprover.reviews.edit(review.id, asked)).digest, digest)
          return content
        },
      }))
      const change = decide === 'edit' ? { digest, subject: 'Late' } : { digest }
      assert.equal(
        await refusal(asApprover.reviews[decide](review.id, change)),
        '409 review_changed',
      )
      restore()
    }
  })

  test('leaves an attached calendar a file, and that of an invitation a version of the body', async () => {
    const contentType = 'text/calendar; charset=utf-8; method=REQUEST; component=VEVENT'
    const attachments = [
      { filename: 'a.txt', contentType: 'text/plain', data: Buffer.from('a') },
      { filename: 'b.ics', contentType, data: Buffer.from('BEGIN:VCALENDAR') },
    ]
    const invite = { start: '2026-12-24', end: '2026-12-27' }
    for (const fields of [{ attachments }, { attachments, invite }]) {
      const { asApprover, client, review, sent } = await held(fields)
      const before = await asApprover.reviews.get(review.id)
      const structure = async () => {
        const raw = Buffer.from((await client.messages.raw(sent.messageId)).content).toString()
        return raw.match(/^Content-(?:Type|Disposition): [^;\r]*/gm)
      }
      const parts = await structure()
      const { digest } = review
      const edited = await asApprover.reviews.edit(review.id, { digest, subject: 'Edited' })
      assert.deepEqual(edited.content.attachments, before.content.attachments)
      assert.deepEqual(await structure(), parts)
    }
  })

  test('keeps whole characters of long bodies in former versions', async () => {
    // An odd number of characters before the pairs, so that the limit splits one.
    const bodyHtml = `<p>${'😀'.repeat(140_000)}`
    const { asApprover, review } = await held({ bodyHtml })
    const { digest } = review
    const { versions } = await asApprover.reviews.edit(review.id, { digest, body: 'Short' })
    const kept = versions[0]?.content.bodyHtml ?? ''
    assert.ok(kept.isWellFormed() && bodyHtml.startsWith(kept))
    assert.equal(kept.length, 262_143)
  })

  test('edits long bodies, 20 times at most, without losing a byte of the storage count', async () => {
    const { asApprover, sent, review, client } = await held({ body: 'x'.repeat(90_000) })
    let { digest } = review
    for (let count = 1; count <= 20; count += 1) {
      const body = count % 2 === 1 ? `Short ${count}.` : `${count}`.repeat(40_000)
      digest = (await asApprover.reviews.edit(review.id, { digest, body })).digest
      const { bodyText } = await client.messages.get(sent.messageId)
      assert.equal(bodyText, body)
    }
    const more = asApprover.reviews.edit(review.id, { digest, body: 'More' })
    assert.equal(await refusal(more), '422 review_limit_reached')
    assert.equal((await asApprover.reviews.get(review.id)).versions.length, 20)
  })

  test('and the keys of the account discuss a review, also after its decision', async () => {
    const { asApprover, approver, client, review } = await held()
    const hostile = '<script>alert(1)</script>\u202e'
    const blank = client.reviews.comment(review.id, { text: ' \n\t\n' })
    assert.equal(await refusal(blank), '400 bad_request')
    const asked = await asApprover.reviews.comment(review.id, { text: ' Why him?\r\n' })
    assert.deepEqual(asked.author, { kind: 'approver', id: approver.id, name: 'Ann' })
    await client.reviews.comment(review.id, { text: hostile })
    await asApprover.reviews.reject(review.id)
    await client.reviews.comment(review.id, { text: 'Understood.' })
    const { comments } = await client.reviews.get(review.id)
    assert.deepEqual(
      comments.map(({ author, text }) => [author.kind, text]),
      [
        ['approver', 'Why him?'],
        ['key', hostile],
        ['key', 'Understood.'],
      ],
    )
    await untilReadable(world)
    const { data } = await client.events.list({ limit: 100 }).page()
    const told = data.filter((event) => event.event === 'message.review_commented')
    assert.deepEqual(
      told.map(({ review: of }) => of.comment_id).toSorted(),
      comments.map(({ id }) => id).toSorted(),
    )
    const audit = (await asApprover.policy.audit({ decision: 'commented' }).page()).data
    assert.equal(audit.length, 3)
    const other = await world.newAccount()
    const strange = other.client.reviews.comment(review.id, { text: 'Hello' })
    assert.equal(await refusal(strange), '404 not_found')
    for (let count = 4; count <= 100; count += 1) {
      await client.reviews.comment(review.id, { text: `${count}` })
    }
    const full = client.reviews.comment(review.id, { text: 'More' })
    assert.equal(await refusal(full), '422 review_limit_reached')
  })

  test('allows the recipients of a message for the future only if asked to', async () => {
    const { asApprover, client, inbox, review, ...by } = await held({ subject: 'One' })
    await asApprover.reviews.approve(review.id, { digest: review.digest })
    const to = 'stranger@friend.example'
    const second = await send({ ...by, client }, inbox, { to, subject: 'Two' })
    assert.ok(second.hold !== undefined, 'an approval as such makes nobody known')
    const { id, digest } = second.hold
    await asApprover.reviews.approve(id, { digest, allowRecipients: true })
    const { outbound } = await asApprover.policy.get({ inboxId: inbox.id })
    assert.deepEqual(
      outbound.rules.map(({ type, value }) => [type, value]),
      [['allow', to]],
    )
    const third = await send({ ...by, client }, inbox, { to, subject: 'Three' })
    assert.equal(third.hold, undefined)
    const changes = (await asApprover.policy.audit({ decision: 'change' }).page()).data
    assert.ok(changes.some(({ change }) => change?.added.first.some(({ value }) => value === to)))
  })
})
