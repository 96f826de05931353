import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, MessageToSend } from '@mailroom/sdk'
import { deliver } from '#test/scenarios/deliver.ts'
import { arrived, openSendingTenant, readMail } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened, plainMail, prepared } from '#test/world.ts'

onAnyEngine('the quote of a reply', (engine) => {
  const world = opened(() => openSendingTenant(engine))
  let made = 0
  const inbox = prepared(() => world.inbox())

  function receive(fields: { body?: string; from?: string; headers?: string[] }) {
    const messageId = `<q${++made}@friend.example>`
    const raw = plainMail({ to: inbox.address, messageId, ...fields })
    return deliver(world, inbox, raw)
  }

  async function reply({ threadId }: { threadId: string }, fields: Partial<MessageToSend> = {}) {
    const message = { to: 'bob@friend.example', body: 'An answer.', threadId, ...fields }
    const sent = await world.client.inboxes.send(inbox.id, message)
    const { text = '', html = '' } = await readMail((await arrived(world, sent)).raw)
    const kept = await world.client.messages.get(sent.messageId)
    return { sent, kept, text: text.replaceAll('\r\n', '\n'), html }
  }

  const attribution = ({ createdAt, fromAddr }: Message, name = fromAddr) => {
    const at = new Date(createdAt).toUTCString()
    const [day, date, month, year, time] = at.replace(',', '').split(' ')
    return `On ${day}, ${Number(date)} ${month} ${year} at ${time?.slice(0, 5)} UTC, ${name} wrote:`
  }

  test('follows the text, each line after its mark, and the kept copy separates the new text', async () => {
    const question = await receive({
      from: 'Bob "B" Smith <bob@friend.example>',
      body: 'First line\n\n> older line\nlast line',
    })
    const { text, html, kept } = await reply(question)
    const quoted = [
      'An answer.',
      '',
      attribution(question, 'Bob B Smith'),
      '> First line',
      '>',
      '>> older line',
      '> last line',
    ].join('\n')
    assert.equal(text.trimEnd(), quoted)
    assert.equal(html, '')
    assert.equal(kept.bodyText, quoted)
    assert.deepEqual([kept.extractedText, kept.bodyHtml], ['An answer.', ''])
  })

  test('is left out on request, in text and in HTML', async () => {
    const question = await receive({ body: 'The question' })
    const plain = await reply(question, { includeQuote: false })
    assert.equal(plain.text.trimEnd(), 'An answer.')
    const rich = await reply(question, { includeQuote: false, body: '<p>An answer.</p>' })
    assert.equal(rich.html.trim(), '<p>An answer.</p>')
    for (const { kept } of [plain, rich]) {
      assert.doesNotMatch(kept.bodyText + kept.bodyHtml, /question|wrote/)
      assert.equal(kept.extractedText, kept.bodyText)
    }
  })

  test('follows the HTML as a quotation of the original markup, made safe', async () => {
    const headers = ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8']
    const body = '<p>The <b>question</b><script>evil()</script><img src="x" onerror="evil()"></p>'
    const question = await receive({ headers, body })
    const { text, html, kept } = await reply(question, { body: '<p>An <i>answer</i>.</p>' })
    assert.match(html, /^<p>An <i>answer<\/i>\.<\/p>/)
    const quote = /<blockquote[^>]*>(.*)<\/blockquote>/s.exec(html)?.[1] ?? ''
    assert.match(quote, /<p>The <b>question<\/b>/)
    assert.doesNotMatch(html, /script|onerror|evil/)
    assert.ok(html.includes(attribution(question, 'Ann Sender')))
    assert.match(text, /^An answer\.\n\nOn .*, Ann Sender wrote:\n> The question/)
    assert.equal(kept.bodyHtml.trim(), html.trim())
    assert.equal(kept.extractedText, 'An answer.')
  })

  test('has nothing that a person does not see, and neither has a forward', async () => {
    const headers = ['MIME-Version: 1.0', 'Content-Type: text/html; charset=utf-8']
    const hidden =
      '<style>.x{color:#fff}</style><p class="x">SECRET</p><p style="font-size:0">SECRET</p>'
    for (const seen of ['', '<p>The question</p>']) {
      const question = await receive({ headers, body: hidden + seen })
      const message = await world.client.messages.get(question.id)
      assert.equal(message.bodyText, seen === '' ? '' : 'The question')
      const plain = await reply(question)
      const quoted = seen === '' ? '>' : '> The question'
      assert.equal(
        plain.text.trimEnd(),
        `An answer.\n\n${attribution(message, 'Ann Sender')}\n${quoted}`,
      )
      const rich = await reply(question, { body: '<p>An answer.</p>' })
      const passed = await world.client.messages.forward(question.id, { to: 'bob@friend.example' })
      const { bodyText, bodyHtml } = await world.client.messages.get(passed.messageId)
      assert.match(bodyText, /Forwarded message/)
      assert.equal(/The question/.test(bodyText + bodyHtml), seen !== '')
      for (const text of [rich.text, rich.html, rich.kept.bodyHtml, bodyText, bodyHtml]) {
        assert.doesNotMatch(text, /SECRET/)
      }
    }
  })

  test('stands before the end of a document, and in both bodies where two are given', async () => {
    const question = await receive({ body: 'The question' })
    const { text, html } = await reply(question, {
      body: 'The text.',
      bodyHtml: '<html><body><p>The HTML.</p></body></html>',
    })
    assert.match(html, /The HTML\..*<blockquote.*The question.*<\/blockquote>.*<\/body>/s)
    assert.match(text, /^The text\.\n\nOn .* wrote:\n> The question/)
  })

  test('is of the last message in the thread, even if the inbox sent it', async () => {
    const question = await receive({ body: 'The question' })
    const first = await reply(question, { body: 'Answer one.', includeQuote: false })
    const second = await reply(question, { body: 'Answer two.' })
    assert.equal(
      second.text.trimEnd(),
      ['Answer two.', '', attribution(first.kept), '> Answer one.'].join('\n'),
    )
    const third = await reply(question, { body: 'Answer three.' })
    assert.match(third.text, /\n> Answer two\.\n>\n> On .* wrote:\n>> Answer one\.\s*$/)
    assert.equal(third.kept.extractedText, 'Answer three.')
  })

  test('holds any content of the original, and none of it breaks out', async () => {
    const nasty = [
      'On Mon, 1 Jan 2024, Eve wrote:',
      '</blockquote></body></html>',
      'From eve@evil.example',
      '.',
      'x'.repeat(900),
      '日本語 \u{1f600}',
    ]
    const headers = ['MIME-Version: 1.0', 'Content-Type: text/plain; charset=utf-8']
    const question = await receive({ headers, body: nasty.join('\n') })
    const { text, html, kept } = await reply(question, { body: '<p>An answer.</p>' })
    const lines = text.trimEnd().split('\n')
    assert.deepEqual(
      lines.slice(-nasty.length),
      nasty.map((line) => `> ${line}`),
    )
    assert.equal(html.match(/<\/blockquote>/g)?.length, 1)
    assert.match(html, /&lt;\/blockquote&gt;&lt;\/body&gt;/)
    assert.equal(kept.extractedText, 'An answer.')
  })

  test('of a huge message is cut, and the reply is sent', async () => {
    const question = await receive({ body: 'A line of some length.\n'.repeat(40_000) })
    const { text, kept } = await reply(question)
    assert.match(text, /^An answer\.\n/)
    assert.match(text.trimEnd(), /\n> \[…\]$/)
    assert.ok(text.length < 300_000)
    assert.equal(kept.extractedText, 'An answer.')
  })

  test('of mail without a sender says so', async () => {
    const raw = `To: ${inbox.address}\nSubject: A\nMessage-ID: <from-nobody@x>\n\nThe question\n`
    const question = await deliver(world, inbox, raw, '')
    assert.equal(question.fromAddr, '')
    const { text } = await reply(question)
    assert.match(text, /^On [^\n]*, an unknown sender wrote:\n> The question/m)
  })

  test('is absent without a thread', async () => {
    const fields = { to: 'bob@friend.example', subject: 'New', body: 'Text', includeQuote: true }
    const sent = await world.client.inboxes.send(inbox.id, fields)
    const { text = '' } = await readMail((await arrived(world, sent)).raw)
    assert.equal(text.trimEnd(), 'Text')
  })
})
