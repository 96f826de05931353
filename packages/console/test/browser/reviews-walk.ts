// Held mail in the console: an approver reads and decides by keyboard and by mouse, an API key only reads.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Inbox, Mailroom } from '@mailroom/sdk'
import { runSql } from '@mailroom/server/test/peers/sql.ts'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

suite('reviews in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox
  let approver: Mailroom
  let token = ''

  before(async () => {
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'held', displayName: 'Front Desk' })
    ;({ token } = await world.client.approvers.create({ name: 'Ada' }))
    approver = new Mailroom({ baseUrl: world.service.baseUrl, apiKey: token })
    await approver.policy.replace({
      outbound: { guards: { newRecipients: 'hold', secrets: 'hold' } },
    })
  })
  after(() => world.close())

  // To somebody new each time: an approved message makes its recipient known.
  const hold = async (subject: string, to = `${crypto.randomUUID()}@stranger.example`) => {
    const sent = await world.client.inboxes.send(inbox.id, {
      to,
      subject,
      body: `The text of ${subject}.`,
    })
    assert.ok(sent.hold !== undefined, 'the policy holds it')
    return { id: sent.hold.id, messageId: sent.messageId }
  }
  const statusOf = async (id: string) => (await approver.reviews.get(id)).status
  const signIn = async (secret: string) => {
    await world.page.getByLabel('API key').fill(secret)
    await world.page.getByRole('button', { name: 'Sign in' }).click()
    await world.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
  }
  const heading = (name: string) => world.page.getByRole('heading', { name, level: 1 }).waitFor()

  test('an API key sees the mail and the reason, and no button', async () => {
    const { page } = world
    const { id } = await hold('For the key')
    await world.signIn('/console/reviews')
    await page.getByText('Only an approver can decide').waitFor()
    await page.getByRole('link', { name: /^Reviews\s*1 pending$/ }).waitFor()
    await page.getByRole('link', { name: 'For the key' }).click()
    await page.getByText('The text of For the key.').waitFor()
    await page.getByText('Only an approver can decide').waitFor()
    assert.equal(await page.getByRole('button', { name: /Approve|Reject/ }).count(), 0)
    await page.keyboard.press('a')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await page.getByRole('link', { name: 'Policy' }).click()
    await page.getByText('Only an approver can change this policy').waitFor()
    await page.getByRole('heading', { name: 'New recipient' }).waitFor()
    await page.getByText('Ask a person', { exact: true }).first().waitFor()
    assert.equal(await page.getByRole('group').count(), 0)
    assert.equal(await page.getByRole('button', { name: /^(?:Choose|New rule|Save)/ }).count(), 0)
    await examine(world, 'policy-read-only')
    await page.getByRole('link', { name: 'Approvers' }).click()
    await page.getByRole('button', { name: 'New approver' }).click()
    await page.getByLabel('Name').fill('Mallory')
    await page.getByRole('button', { name: 'Create approver' }).click()
    await page
      .getByRole('alert')
      .getByText(/approver/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    await approver.reviews.reject(id)
  })

  test('an approver finds only the pages that are for approvers', async () => {
    const { page } = world
    await world.open('/console/')
    await signIn(token)
    await heading('Reviews')
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    assert.deepEqual(await links.allTextContents(), ['Reviews', 'Policy', 'Approvers'])
    assert.equal(await page.getByRole('button', { name: 'Compose' }).count(), 0)
    await page.keyboard.press('c')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await world.open('/console/keys')
    await page.getByText('This page needs an API key of the account').waitFor()
  })

  test('a policy says what applies and where it comes from, and an approver changes it', async () => {
    const { page } = world
    const { outbound: before } = await approver.policy.get()
    const allowedFindings = ['0', '1'].map((digit) => ({ kind: 'iban', sha256: digit.repeat(64) }))
    await approver.policy.replace({ outbound: { ...before, allowedFindings } })
    await world.open('/console/policy')
    const choose = (guard: string, action: string | RegExp) =>
      page.getByRole('group', { name: guard }).getByRole('button', { name: action }).click()
    const save = async () => {
      await page.getByRole('button', { name: 'Save policy' }).click()
      await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })
    }
    const changes = page.getByRole('region', { name: 'Unsaved changes' })
    await page.getByRole('button', { name: 'No longer allow the iban 000000000000' }).click()
    await choose('Attached files', 'Refuse')
    await changes.getByText('2 unsaved changes').waitFor()
    await changes.getByText('Attached files: Allow → Refuse').waitFor()
    await page.getByRole('button', { name: 'New rule for recipients' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Allow', exact: true }).first().click()
    await dialog.getByLabel('Address or domain').fill('known.example')
    await dialog.getByLabel('Ends on').fill('2001-02-03T04:05')
    await page.keyboard.press('Enter')
    await dialog.getByText('The rule must end in the future.').waitFor()
    await dialog.getByLabel('Ends on').fill('2036-02-03T04:05')
    await dialog.getByLabel('Note').fill('Our partner')
    await page.keyboard.press('Enter')
    await changes.getByText('Rule added: allow the recipient known.example').waitFor()
    await examine(world, 'policy')
    await save()
    const rule = page.getByRole('listitem').filter({ hasText: 'Our partner' })
    await rule.getByText('set here').waitFor()
    await rule.getByText(/^until .*2036/).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'The whole account, by Ada' })
      .getByText('Attached files: Allow → Refuse')
      .waitFor()
    await examine(world, 'policy-saved')
    // An inbox without held mail is not in the list of an approver.
    const quiet = await world.client.inboxes.create({ mailboxName: 'quiet' })
    const other = page.getByLabel('Another inbox')
    await other.fill(quiet.address)
    await other.press('Enter')
    await page.getByText('No held mail is from this address.').waitFor()
    await other.fill(quiet.id)
    await other.press('Enter')
    await rule.getByText('from the account', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Policy of').inputValue(), quiet.id)
    await examine(world, 'policy-other')
    await page.getByLabel('Policy of').selectOption('')
    await other.fill(inbox.address)
    await page.getByRole('button', { name: 'Show its policy' }).click()
    await rule.getByText('from the account', { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Policy of').inputValue(), inbox.id)
    const files = page.getByRole('group', { name: 'Attached files' })
    assert.equal(
      await files.locator('[aria-pressed="true"]').textContent(),
      'Same as the pod: Refuse',
    )
    await choose('Attached files', 'Allow')
    await page.getByLabel('Policy of').selectOption('')
    await dialog.getByText('have not been saved').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal(await page.getByLabel('Policy of').inputValue(), inbox.id)
    await save()
    const { outbound } = (await approver.policy.get({ inboxId: inbox.id })).effective
    assert.deepEqual(outbound.allowedFindings, [
      { ...allowedFindings[1], note: null, from: 'account' },
    ])
    assert.deepEqual(
      [outbound.guards.attachments, outbound.guards.newRecipients, outbound.rules[0]?.value],
      ['allow', 'hold', 'known.example'],
    )
  })

  test('a preset shows what it changes, and sets it when the policy is saved', async () => {
    const { page } = world
    const before = await approver.policy.get()
    await world.open('/console/policy')
    const preset = (title: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) })
    await preset('Ask me about strangers').getByText('In force').waitFor()
    const nothing = preset('Nothing leaves')
    const change = 'Rule removed: allow the recipient known.example'
    await nothing.getByText(change).waitFor()
    await nothing.getByRole('button').click()
    await page.getByRole('region', { name: 'Unsaved changes' }).getByText(change).waitFor()
    await examine(world, 'policy-preset')
    assert.deepEqual(await approver.policy.get(), before)
    await page.getByRole('button', { name: 'Save policy' }).click()
    await nothing.getByText('In force').waitFor()
    const check = await world.client.inboxes.checkSend(inbox.id, {
      to: 'ann@known.example',
      subject: 'Hello',
      body: 'Hello.',
    })
    assert.equal(check.decision, 'reject')
    const strict = preset('Only people who wrote first')
    await strict.getByText('New recipient: Ask a person → Refuse').waitFor()
    await strict.getByRole('button').click()
    await page.getByRole('button', { name: 'Discard' }).click()
    await nothing.getByText('In force').waitFor()
    const { inbound, outbound } = before
    await approver.policy.replace({ inbound, outbound })
  })

  test('an approver makes another, whose token is shown once and works, and deletes it', async () => {
    const { page } = world
    await world.open('/console/approvers')
    await page.getByRole('row', { name: /^Ada You/ }).waitFor()
    await page.getByRole('button', { name: 'New approver' }).click()
    await page.getByLabel('Name').fill('Grace')
    await page.getByRole('button', { name: 'Create approver' }).click()
    const made = (await page.locator('[data-secret]').textContent()) ?? ''
    assert.match(made, /^mra_/)
    await examine(world, 'approver-made')
    const grace = new Mailroom({ baseUrl: world.service.baseUrl, apiKey: made })
    await grace.reviews.list().page()
    await page.getByRole('button', { name: 'I have copied it' }).click()
    await examine(world, 'approvers')
    await page.getByRole('button', { name: 'Delete Grace' }).click()
    await page.getByRole('button', { name: 'Delete approver' }).click()
    await page.getByText('Approver deleted').waitFor()
    await assert.rejects(grace.reviews.list().page())
    // The last one is only for the operator.
    await page.getByRole('button', { name: 'Delete Ada' }).click()
    await page.getByRole('button', { name: 'Delete approver' }).click()
    await page.getByRole('alert').waitFor()
    assert.equal((await approver.approvers.list().page()).total, 1)
  })

  test('the mail is shown as its recipients will see it, with its thread, and approved by keyboard', async () => {
    const { page, client } = world
    await world.deliver(
      inbox.address,
      plainMail({ subject: 'Question', text: 'What is the price?' }),
    )
    const [asked] = (await client.messages.list(inbox.id, { direction: 'inbound' }).page()).data
    assert.ok(asked !== undefined)
    const sent = await client.inboxes.send(inbox.id, {
      threadId: asked.threadId,
      to: ['ann@stranger.example', 'zoe@stranger.example'],
      bcc: ['boss@stranger.example'],
      body: 'Card 4111 1111 1111 1111.',
      bodyHtml:
        '<p>The price is <b>ten</b>. Card 4111 1111 1111 1111.</p><script>alert(1)</script>',
      headers: { 'X-Case': '77' },
      attachments: [
        {
          filename: 'price.txt',
          contentType: 'text/plain',
          data: new TextEncoder().encode('Card 4111 1111 1111 1111.'),
        },
      ],
    })
    const id = sent.hold?.id ?? ''
    await world.open(`/console/reviews/${id}`)
    await heading('Re: Question')
    const header = page.locator('[aria-label="Header"]')
    assert.match((await header.textContent()) ?? '', /Front Desk.*zoe@.*Bcc.*boss@.*X-Case77/)
    const reasons = page.getByRole('list', { name: 'Reasons' })
    await reasons.getByText('New recipient').first().waitFor()
    await reasons.getByText(/card number in the text, from character \d+, \d+ long/).waitFor()
    await reasons.getByText(/card number in file 1, from character 6, 19 long/).waitFor()
    assert.doesNotMatch((await reasons.textContent()) ?? '', /4111/)
    await page.frameLocator('.held-mail iframe').getByText('The price is ten').waitFor()
    await page.getByRole('link', { name: /price\.txt/ }).waitFor()
    await page.getByText('What is the price?').first().waitFor()
    await examine(world, 'review')
    await page.keyboard.press('a')
    const dialog = page.getByRole('dialog', { name: 'Approve this message?' })
    await dialog.getByText('boss@stranger.example').waitFor()
    await examine(world, 'review-approve')
    assert.equal(await statusOf(id), 'pending', 'one key decides nothing')
    await page.keyboard.press('Enter')
    await page.getByText('Approved: “Re: Question”').waitFor()
    await heading('Reviews')
    assert.equal(await statusOf(id), 'approved')
  })

  test('a text beside the HTML is announced and one click away, as is what a reader does not see', async () => {
    const { page, client } = world
    const sent = await client.inboxes.send(inbox.id, {
      to: 'two@stranger.example',
      subject: 'Two bodies',
      body: 'Pay 9999 to Eve.',
      bodyHtml:
        '<p>Pay 10 to Bob.</p><p style="display:none">Unseen words</p><img src="https://evil.example/a.png">',
    })
    await world.open(`/console/reviews/${sent.hold?.id}`)
    await heading('Two bodies')
    await page.frameLocator('.held-mail iframe').getByText('Pay 10 to Bob.').waitFor()
    assert.equal(await page.getByText('Pay 9999').count(), 0)
    await page.getByText('This message also has a text version').waitFor()
    await page.getByText('Images from other hosts in the HTML: 1.').waitFor()
    await page.getByText('12 characters hidden by display:none.').waitFor()
    await examine(world, 'review-two-bodies')
    await page.getByRole('button', { name: 'Show the text' }).click()
    await page.getByText('Pay 9999 to Eve.').waitFor()
    await page.getByRole('button', { name: 'Show the source' }).click()
    await page.getByLabel('Source of the HTML').getByText('Unseen words').waitFor()
    await approver.reviews.reject(sent.hold?.id ?? '')
  })

  test('unseen characters are shown by their numbers, and a page that may hide text opens the source', async () => {
    const { page, client } = world
    const sent = await client.inboxes.send(inbox.id, {
      to: 'tags@stranger.example',
      subject: 'Tags\u{e0041}',
      body: 'A text\u3164.',
      bodyHtml: '<style>p:not([data-k]){display:none}</style><p data-k="4711 CARD">LIST</p>',
      headers: { 'X-Case': '7\u{e0042}' },
    })
    await world.open(`/console/reviews/${sent.hold?.id}`)
    await heading('Tags[U+E0041]')
    await page.getByText('The HTML cannot be shown completely').waitFor()
    await page.getByLabel('Source of the HTML').getByText('LIST').waitFor()
    await page.getByText('3 invisible characters, shown as [U+…]').waitFor()
    await page.getByText('9 characters of the HTML that are never displayed').waitFor()
    await page.getByText('7[U+E0042]').waitFor()
    await page.getByRole('button', { name: 'Show the text' }).click()
    await page.getByText('A text[U+3164].').waitFor()
    await approver.reviews.reject(sent.hold?.id ?? '')
  })

  test('HTML that cannot be shown is said to be so, and its source is shown instead', async () => {
    const { page, client } = world
    const sent = await client.inboxes.send(inbox.id, {
      to: 'deep@stranger.example',
      subject: 'Too deep',
      body: 'Pay 10 to Bob.',
      bodyHtml: `${'<div>'.repeat(20_000)}Pay 9999 to Eve.`,
    })
    await world.open(`/console/reviews/${sent.hold?.id}`)
    await heading('Too deep')
    await page.getByText('The HTML cannot be shown completely').waitFor()
    await page.getByLabel('Source of the HTML').getByText('Pay 9999 to Eve.').waitFor()
    await examine(world, 'review-too-deep')
    await page.getByRole('tab', { name: 'Message' }).click()
    const frame = page.frameLocator('.held-mail iframe')
    await frame.getByText('The HTML of this message cannot be shown').waitFor()
    await frame.getByText('Pay 10 to Bob.').waitFor()
    await approver.reviews.reject(sent.hold?.id ?? '')
  })

  test('the next review follows a rejection, whose reason the agent gets to read', async () => {
    const { page } = world
    const older = await hold('Older')
    const newer = await hold('Newer')
    await world.open('/console/reviews')
    await page.getByRole('link', { name: 'Older' }).waitFor()
    await page.keyboard.press('Enter')
    await heading('Newer')
    await page.keyboard.press('x')
    await page.getByLabel('Reason (optional)').fill('Too soon')
    await page.keyboard.press('Enter')
    await heading('Older')
    const rejected = await approver.reviews.get(newer.id)
    assert.deepEqual([rejected.status, rejected.decidedReason], ['rejected', 'Too soon'])
    assert.equal(await statusOf(older.id), 'pending')
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await statusOf(older.id), 'pending')
  })

  test('an approver edits a message whose secret is marked, discusses it, and allows its recipient', async () => {
    const { page, client } = world
    const to = 'bill@stranger.example'
    const sent = await client.inboxes.send(inbox.id, {
      to,
      subject: 'Card',
      body: 'Pay with 4111 1111 1111 1111 today.',
      attachments: ['a.txt', 'b.txt'].map((filename) => ({
        filename,
        contentType: 'text/plain',
        data: new TextEncoder().encode(filename),
      })),
    })
    const id = sent.hold?.id ?? ''
    await world.open(`/console/reviews/${id}`)
    await heading('Card')
    await page.getByText('The message is sent as soon as it is approved.').waitFor()
    const marked = page.locator('.held-mail mark')
    await marked.first().waitFor()
    assert.deepEqual(await marked.allTextContents(), ['4111 1111 1111 1111'])
    await page.getByLabel('New comment').fill('No cards, please.')
    await page.getByRole('button', { name: 'Comment', exact: true }).click()
    const comments = page.getByRole('list', { name: 'Comments' })
    await comments.getByText('No cards, please.').waitFor()
    await client.reviews.comment(id, { text: 'Understood.' })
    await heading('Card')
    await page.keyboard.press('e')
    const form = page.getByRole('dialog', { name: 'Edit the message' })
    assert.ok(await form.getByRole('button', { name: 'Save' }).isDisabled())
    await form.getByLabel('To', { exact: true }).fill('no address')
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel('To', { exact: true }).fill(to)
    await form.getByLabel('Subject').fill('Invoice')
    await form.getByLabel('Text').fill('Pay by transfer.')
    await form.getByLabel('Remove b.txt').check()
    await examine(world, 'review-edit')
    await form.getByRole('button', { name: 'Save' }).click()
    await heading('Invoice')
    await page.getByText('Pay by transfer.').first().waitFor()
    await comments.getByText('Understood.').waitFor()
    assert.equal(await page.getByRole('link', { name: /b\.txt/ }).count(), 0)
    await page.getByText(/^Version 1, edited .*: subject, text, files$/).click()
    await page.getByText('Pay with 4111 1111 1111 1111 today.').waitFor()
    await examine(world, 'review-edited')
    await page.keyboard.press('a')
    const dialog = page.getByRole('dialog', { name: 'Approve this message?' })
    await dialog.getByLabel('Always allow these recipients').check()
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('Approved: “Invoice”').waitFor()
    const { outbound } = await approver.policy.get({ inboxId: inbox.id })
    assert.ok(outbound.rules.some(({ type, value }) => type === 'allow' && value === to))
  })

  test('what another decided meanwhile, and what a limit refuses, is told', async () => {
    const { page } = world
    await page.getByRole('button', { name: /^Approve…/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    const { data } = await approver.reviews.list({ status: 'pending' }).page()
    await approver.reviews.reject(data[0]?.id ?? '')
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('The review has already been decided').waitFor()
    await page.getByText('Rejected', { exact: true }).waitFor()

    const { id } = await hold('Suppressed', 'gone@stranger.example')
    await world.client.suppressions.create({ address: 'gone@stranger.example' })
    await world.open(`/console/reviews/${id}`)
    await heading('Suppressed')
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('Nothing was decided:').waitFor()
    assert.equal(await statusOf(id), 'pending')
  })

  test('a mail that has changed is not approved, and is shown as it is now', async () => {
    const { page, service } = world
    const { id } = await hold('Changed')
    await world.open(`/console/reviews/${id}`)
    await heading('Changed')
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    const { digest } = await approver.reviews.get(id)
    const setDigest = (to: string) =>
      runSql(service, `update reviews set digest = '${to}' where id = '${id}'`)
    await setDigest('0'.repeat(64))
    await page.keyboard.press('Enter')
    await page.getByText('The mail has changed since you read it').waitFor()
    assert.equal(await statusOf(id), 'pending')
    await setDigest(digest)
    await approver.reviews.reject(id)
  })

  test('nothing is decided after the end of its time, nor by an approver who was deleted', async () => {
    const { page, service } = world
    const { id } = await hold('Too late')
    await world.open(`/console/reviews/${id}`)
    await heading('Too late')
    await runSql(service, `update reviews set status = 'expired' where id = '${id}'`)
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('The review has already been decided').waitFor()
    await page.getByText('Expired', { exact: true }).waitFor()

    const { id: other } = await hold('Not by Eve')
    const eve = await approver.approvers.create({ name: 'Eve' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    await signIn(eve.token)
    await world.open(`/console/reviews/${other}`)
    await heading('Not by Eve')
    await page.keyboard.press('a')
    await page.getByRole('dialog').waitFor()
    await approver.approvers.delete(eve.id)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Sign in to Mailroom' }).waitFor()
    assert.equal(await statusOf(other), 'pending')
    await approver.reviews.reject(other)
    await signIn(token)
  })

  test('several are approved at once, and what is refused is told', async () => {
    const { page } = world
    const ids = [await hold('One of two'), await hold('Two of two')].map(({ id }) => id)
    await world.open('/console/reviews')
    for (const name of ['One of two', 'Two of two', 'Suppressed']) {
      await page.getByLabel(`Select ${name}`).check()
    }
    await examine(world, 'reviews')
    await page.getByRole('button', { name: /^Approve 3 selected/ }).click()
    await page.getByRole('dialog', { name: 'Approve 3 messages?' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('2 messages approved').waitFor()
    await page.getByText('“Suppressed”').waitFor()
    assert.deepEqual(await Promise.all(ids.map(statusOf)), ['approved', 'approved'])
    await page.getByRole('button', { name: 'Approved', exact: true }).click()
    await page.getByRole('link', { name: 'One of two' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'Suppressed' }).count(), 0)
    assert.deepEqual(foreignRequests(world), [])
  })
})
