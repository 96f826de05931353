// Held mail in the console: an approver reads and decides by keyboard and by mouse, an API key only reads.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Inbox, Mailroom } from '@mailroom/sdk'
import { graveFaults, showTheme, THEMES } from '#test/browser/axe.ts'
import { DESK, PHONE } from '#test/browser/chromium.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

const folder = process.env.MAILROOM_SCREENSHOTS

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

  async function examine(name: string): Promise<void> {
    const { page } = world
    for (const theme of THEMES) {
      await showTheme(page, theme)
      if (folder !== undefined)
        await page.screenshot({ path: join(folder, `${name}-${theme}.png`) })
      assert.deepEqual(await graveFaults(page, theme), [], `${name} in ${theme}`)
    }
    await page.setViewportSize(PHONE)
    await page.waitForTimeout(200)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}-phone.png`) })
    assert.ok(width <= PHONE.width, `${name} is ${width} px wide on a phone`)
    await page.setViewportSize(DESK)
  }

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
    await page.getByLabel('New recipient').selectOption('allow')
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('Only an approver changes this policy').waitFor()
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
    await world.open('/console/policy')
    await page.getByLabel('Attached files').selectOption('reject')
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('Applies: reject, from the policy of the account.').waitFor()
    await page.getByRole('button', { name: 'New rule for recipients' }).click()
    await page.getByLabel('Address or domain').fill('known.example')
    await page.keyboard.press('Enter')
    await page.getByText('set here').waitFor()
    await examine('policy')
    await page.getByLabel('Policy of').selectOption(inbox.id)
    await page.getByText('from the account', { exact: true }).waitFor()
    await page.getByLabel('Attached files').selectOption('allow')
    await page.getByRole('button', { name: 'Save policy' }).click()
    await page.getByText('Applies: allow, from the policy of the inbox.').waitFor()
    const { outbound } = (await approver.policy.get({ inboxId: inbox.id })).effective
    assert.deepEqual(
      [outbound.guards.attachments, outbound.guards.newRecipients, outbound.rules[0]?.value],
      ['allow', 'hold', 'known.example'],
    )
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
    await examine('approver-made')
    const grace = new Mailroom({ baseUrl: world.service.baseUrl, apiKey: made })
    await grace.reviews.list().page()
    await page.getByRole('button', { name: 'Done' }).click()
    await examine('approvers')
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
        { filename: 'price.txt', contentType: 'text/plain', data: new TextEncoder().encode('10') },
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
    assert.doesNotMatch((await reasons.textContent()) ?? '', /4111/)
    await page.frameLocator('.held-mail iframe').getByText('The price is ten').waitFor()
    await page.getByRole('link', { name: /price\.txt/ }).waitFor()
    await page.getByText('What is the price?').first().waitFor()
    await examine('review')
    await page.keyboard.press('a')
    const dialog = page.getByRole('dialog', { name: 'Approve this message?' })
    await dialog.getByText('boss@stranger.example').waitFor()
    await examine('review-approve')
    assert.equal(await statusOf(id), 'pending', 'one key decides nothing')
    await page.keyboard.press('Enter')
    await page.getByText('Approved: Re: Question').waitFor()
    await heading('Reviews')
    assert.equal(await statusOf(id), 'approved')
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

  test('what another decided meanwhile, and what a limit refuses, is told', async () => {
    const { page } = world
    await page.getByRole('button', { name: /^Approve…/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    const { data } = await approver.reviews.list({ status: 'pending' }).page()
    await approver.reviews.reject(data[0]?.id ?? '')
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click()
    await page.getByText('The review is decided already').waitFor()
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

  test('several are approved at once, and what is refused is told', async () => {
    const { page } = world
    const ids = [await hold('One of two'), await hold('Two of two')].map(({ id }) => id)
    await world.open('/console/reviews')
    for (const name of ['One of two', 'Two of two', 'Suppressed']) {
      await page.getByLabel(`Select ${name}`).check()
    }
    await examine('reviews')
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
