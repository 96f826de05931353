import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MessageToSend } from '@mailroom/sdk'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { digestOf } from '#test/scenarios/review-world.ts'
import { arrived, openSendingTenant, readMail, send } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const MARKDOWN = '# Offer\n\nDear **Ann**,\nsee [our page](https://shop.example/?a=1&b=2).'

onEachEngine('a message in Markdown', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  const received = async (sent: Awaited<ReturnType<typeof send>>) =>
    readMail((await arrived(world, sent)).raw)

  test('leaves as the text that was written, with HTML that is made from it', async () => {
    const inbox = await world.inbox()
    const sent = await send(world, inbox, { body: MARKDOWN, format: 'markdown' })
    const { text = '', html = '' } = await received(sent)
    assert.equal(text.trimEnd(), MARKDOWN)
    assert.match(html, /<h1 style="[^"]+">Offer<\/h1>/)
    assert.match(html, /Dear <strong>Ann<\/strong>,<br>/)
    assert.match(html, /<a href="https:\/\/shop\.example\/\?a=1&amp;b=2">our page<\/a>/)
    const stored = await world.client.messages.get(sent.messageId)
    assert.deepEqual([stored.bodyText, stored.extractedText], [MARKDOWN, MARKDOWN])
  })

  test('shows the images of its own files, and no others', async () => {
    const inbox = await world.inbox()
    const file = { filename: 'logo.png', contentType: 'image/png', data: Buffer.from('png') }
    const { html = '' } = await received(
      await send(world, inbox, {
        body: '![Logo](cid:logo) ![Pixel](https://evil.example/pixel.gif) ![None](cid:none)',
        format: 'markdown',
        attachments: [{ ...file, contentId: 'logo' }],
      }),
    )
    assert.match(html, /<img src="cid:logo" alt="Logo" /)
    assert.equal(html.match(/<img/g)?.length, 1)
    assert.match(html, /<a href="https:\/\/evil\.example\/pixel\.gif">Pixel<\/a> None/)
  })

  test('is also a batch, a form, a draft, and the text before a forwarded message', async () => {
    const inbox = await world.inbox()
    const fields = {
      to: 'ann@friend.example',
      subject: 'S',
      body: MARKDOWN,
      format: 'markdown',
    } as const
    const { data } = await world.client.inboxes.sendBatch(inbox.id, [
      { ...fields, idempotencyKey: 'an item' },
    ])
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    const posted = await world.fetch(`/v1/inboxes/${inbox.id}/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key}`, 'idempotency-key': 'a form' },
      body: form,
    })
    const draft = await world.client.drafts.create(inbox.id, fields)
    assert.deepEqual([draft.format, draft.includeSignature], ['markdown', true])
    const first = await world.client.drafts.send(draft.id)
    const { messageId } = await world.client.messages.forward(first.messageId, {
      to: 'bea@friend.example',
      body: 'See **below**.',
      format: 'markdown',
    })
    const item = data[0]?.body as { messageId: string }
    const form1 = (await posted.json()) as { messageId: string }
    for (const id of [item.messageId, form1.messageId, first.messageId]) {
      assert.match((await world.client.messages.get(id)).bodyHtml, /<strong>Ann<\/strong>/)
    }
    const forwarded = await world.client.messages.get(messageId)
    assert.match(
      forwarded.bodyHtml,
      /See <strong>below<\/strong>[\s\S]+Forwarded message[\s\S]+<h1/,
    )
    assert.match(forwarded.bodyText, /^See \*\*below\*\*\.\n\n-+ Forwarded message/)
  })

  test('quotes what it answers in both versions', async () => {
    const inbox = await world.inbox()
    const { threadId } = await send(world, inbox, { body: '<p>First <i>one</i></p>' })
    const reply = await send(world, inbox, { threadId, body: '*Yes*', format: 'markdown' })
    const { bodyText, bodyHtml, extractedText } = await world.client.messages.get(reply.messageId)
    assert.match(bodyText, /^\*Yes\*\n\nOn .+ wrote:\n> First one/)
    assert.match(bodyHtml, /<em>Yes<\/em>[\s\S]+<div class="gmail_quote">[\s\S]+First <i>one<\/i>/)
    assert.equal(extractedText, '*Yes*')
  })

  test('is refused with a fix if it has HTML of its own, or is too complex', async () => {
    const inbox = await world.inbox()
    const refused = async (fields: Partial<MessageToSend>) => {
      const { status, message, fix } = await refusalOf(send(world, inbox, fields))
      return `${status} ${message} ${fix}`
    }
    for (const format of ['text', 'html', 'markdown'] as const) {
      assert.match(
        await refused({ format, bodyHtml: '<p>x</p>' }),
        new RegExp(
          `^400 The field "bodyHtml" cannot be used with the format ${format}\\. Omit bodyHtml`,
        ),
      )
    }
    const complex = ['> '.repeat(60), '- a\n'.repeat(20_000), '***a* '.repeat(16_000)]
    const reasons = [/nested more than 50 levels/, /more than 500000 characters/, /takes too long/]
    for (const [index, body] of complex.entries()) {
      const text = await refused({ format: 'markdown', body })
      assert.match(text, reasons[index] ?? /-/)
      assert.match(text, /^400 The field "body" .+ send it with the format "text"\.$/)
    }
    const draft = await world.client.drafts.create(inbox.id, { body: 'a', bodyHtml: '<p>a</p>' })
    const changed = world.client.drafts.update(draft.id, { format: 'markdown' })
    assert.equal((await refusalOf(changed)).status, 400)
    await world.client.drafts.update(draft.id, { format: 'markdown', bodyHtml: null })
    assert.equal((await world.client.drafts.update(draft.id, { format: null })).format, 'auto')
  })

  test('can be text that looks like HTML, and HTML that looks like text', async () => {
    const inbox = await world.inbox()
    const text = await send(world, inbox, { body: '<b>bold</b>', format: 'text' })
    const html = await send(world, inbox, { body: 'a &amp; <b>b</b>', format: 'html' })
    const one = await world.client.messages.get(text.messageId)
    const other = await world.client.messages.get(html.messageId)
    assert.deepEqual([one.bodyText, one.bodyHtml], ['<b>bold</b>', ''])
    assert.deepEqual([other.bodyText, other.bodyHtml], ['a & b', 'a &amp; <b>b</b>'])
  })

  test('is held, reviewed and edited in the form in which it will leave', async () => {
    const account = await world.newAccount()
    const approver = await account.client.approvers.create({ name: 'Ann' })
    const inbox = await account.client.inboxes.create({ signature: '*The agent*' })
    const { policy, reviews } = world.clientWith(approver.token)
    await policy.replace({ outbound: { guards: { newRecipients: 'hold' } } })
    const by = { ...account, inbox }
    const sent = await send(by, inbox, { body: MARKDOWN, format: 'markdown' })
    const review = await reviews.get(sent.hold?.id ?? '')
    assert.equal(review.digest, digestOf(review.content))
    assert.match(review.content.bodyHtml, /<strong>Ann<\/strong>[\s\S]+<em>The agent<\/em>/)
    assert.equal(review.content.bodyText, `${MARKDOWN}\n\n-- \n*The agent*`)
    assert.equal(review.display.isWhole, true)
    const body = review.content.bodyText.replace('**Ann**', '**Bea**')
    const edited = await reviews.edit(review.id, { digest: review.digest, body })
    assert.match(edited.content.bodyHtml, /<strong>Bea<\/strong>[\s\S]+<em>The agent<\/em>/)
    const { digest } = await reviews.edit(review.id, {
      digest: edited.digest,
      body,
      format: 'text',
    })
    await reviews.approve(review.id, { digest })
    const { html } = await received(sent)
    assert.ok(!html, 'the approver chose plain text')
  })
})

onEachEngine('the signature of an inbox', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  const bodiesOf = async (sent: { messageId: string }) => {
    const { bodyText, bodyHtml, extractedText } = await world.client.messages.get(sent.messageId)
    return { text: bodyText, html: bodyHtml, own: extractedText }
  }

  test('is below the text and above the quote, in every format', async () => {
    const inbox = await world.client.inboxes.create({ signature: '**Ann**\nAcme' })
    assert.equal((await world.client.inboxes.get(inbox.id)).signature, '**Ann**\nAcme')
    const first = await send(world, inbox, { body: 'Hello' })
    assert.deepEqual(await bodiesOf(first), {
      text: 'Hello\n\n-- \n**Ann**\nAcme',
      html: '',
      own: 'Hello',
    })
    const { threadId } = first
    const html = await send(world, inbox, { threadId, body: '<html><body><p>Hi</p></body></html>' })
    const answered = await bodiesOf(html)
    assert.match(answered.text, /^Hi\n\n-- \n\*\*Ann\*\*\nAcme\n\nOn .+ wrote:\n> Hello/)
    assert.match(
      answered.html,
      /<p>Hi<\/p>[\s\S]+<strong>Ann<\/strong><br>\nAcme[\s\S]+gmail_quote[\s\S]+<\/body><\/html>$/,
    )
    const both = await bodiesOf(
      await send(world, inbox, { body: 'Plain', bodyHtml: '<p>Rich</p>' }),
    )
    assert.match(both.html, /^<p>Rich<\/p>\n<div [\s\S]+<strong>Ann<\/strong>/)
    const markdown = await bodiesOf(await send(world, inbox, { body: '_Hi_', format: 'markdown' }))
    assert.equal(markdown.html.match(/<strong>Ann<\/strong>/g)?.length, 1)
    assert.match(markdown.html, /<em>Hi<\/em>[\s\S]+<strong>Ann<\/strong>[\s\S]+<\/div><\/div>\s*$/)
    const forwarded = await bodiesOf(
      await world.client.messages.forward(html.messageId, { to: 'bea@friend.example' }),
    )
    assert.match(forwarded.text, /^-- \n\*\*Ann\*\*\nAcme\n\n-+ Forwarded message/)
  })

  test('is left out if the send asks for it, and is cleared with null', async () => {
    const inbox = await world.client.inboxes.create({ signature: 'Ann' })
    const without = await send(world, inbox, { body: 'Hello', includeSignature: false })
    assert.equal((await bodiesOf(without)).text, 'Hello')
    const draft = await world.client.drafts.create(inbox.id, {
      to: 'ann@friend.example',
      subject: 'S',
      body: 'Draft',
    })
    await world.client.inboxes.update(inbox.id, { signature: 'Bea' })
    assert.equal(
      (await bodiesOf(await world.client.drafts.send(draft.id))).text,
      'Draft\n\n-- \nBea',
    )
    await world.client.inboxes.update(inbox.id, { signature: null })
    assert.equal((await bodiesOf(await send(world, inbox, { body: 'Hello' }))).text, 'Hello')
    const long = world.client.inboxes.update(inbox.id, { signature: 'x'.repeat(2_001) })
    assert.match((await refusalOf(long)).message, /"signature" must have at most 2000 characters/)
  })

  test('is refused when it is set if no message could be sent with it', async () => {
    const inbox = await world.client.inboxes.create({ signature: 'Ann' })
    const deep = { signature: '>'.repeat(60) }
    for (const asked of [
      world.client.inboxes.create(deep),
      world.client.inboxes.update(inbox.id, deep),
    ]) {
      const { status, message, fix, details } = await refusalOf(asked)
      assert.equal(status, 400)
      assert.match(message, /^The field "signature" is Markdown that is nested more than 50 levels/)
      assert.match(fix ?? '', /^Simplify the signature/)
      assert.deepEqual(details?.[0]?.path, 'signature')
    }
    assert.equal((await world.client.inboxes.get(inbox.id)).signature, 'Ann')
    const { signature } = await world.client.inboxes.update(inbox.id, { signature: ' \n\u00a0\t' })
    assert.equal(signature, null)
    assert.equal((await world.client.inboxes.create({ signature: '\n\n' })).signature, null)
    assert.equal((await bodiesOf(await send(world, inbox, { body: 'Hello' }))).text, 'Hello')
  })
})
