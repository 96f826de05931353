// A person's drafts: written, saved as they are written, changed by others meanwhile, sent now or later, and deleted.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Draft, Inbox } from '@mailroom/sdk'
import { until } from '@mailroom/server/test/scenarios/outcomes.ts'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

suite('drafts in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox

  before(async () => {
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'drafts' })
    await world.signIn('/console/')
  })
  after(() => world.close())

  const dialog = () => world.page.getByRole('dialog', { name: /^(?:New message|Draft)$/ })
  const field = (label: string) => dialog().getByLabel(label, { exact: true })
  const stored = async (id: string): Promise<Draft> => world.client.drafts.get(id)
  const untilSaved = () => dialog().getByText('Saved', { exact: true }).waitFor()
  const create = (subject: string) =>
    world.client.drafts.create(inbox.id, { to: 'ann@one.example', subject, body: 'Some words.' })
  const inThread = (name: string) => world.page.getByRole('region', { name, exact: true })
  const open = async (subject: string, region: string | null = null) => {
    await world.open(`/console/drafts?inbox=${inbox.id}`)
    await world.page.getByRole('link', { name: subject, exact: true }).first().click()
    await (region === null ? field('To') : inThread(region)).waitFor()
  }

  test('a draft is begun from the navigation and saved as it is written, with its files', async () => {
    const { page, client } = world
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: 'Drafts', exact: true })
      .click()
    await page.getByText('No drafts').waitFor()
    await examine(world, 'drafts-empty')
    await page.getByRole('button', { name: 'New draft' }).click()
    await field('To').fill('Ann <ann@one.example>')
    await field('Subject').fill('Minutes')
    await field('Message').fill('As agreed.')
    const newest = async () => (await client.drafts.list(inbox.id).page()).data[0]
    await until(async () => (await newest())?.body === 'As agreed.')
    const id = (await newest())?.id ?? ''
    const { to, subject } = await stored(id)
    assert.deepEqual([to, subject], [['Ann <ann@one.example>'], 'Minutes'])
    const files = ['a.txt', 'b.txt'].map((name) => ({
      name,
      mimeType: 'text/plain',
      buffer: Buffer.from(name),
    }))
    await dialog().getByLabel('Files to attach').setInputFiles(files)
    await dialog().getByText('b.txt').waitFor()
    await dialog().getByRole('button', { name: 'Remove a.txt' }).click()
    await dialog().getByText('a.txt').waitFor({ state: 'detached' })
    await untilSaved()
    const names = (await stored(id)).attachments.map(({ filename }) => filename)
    assert.deepEqual(names, ['b.txt'])
    await dialog().getByLabel('Markdown').check()
    await until(async () => (await stored(id)).format === 'markdown')
    await examine(world, 'draft')
    await field('Subject').fill('Minutes of Monday')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    await until(async () => (await stored(id)).subject === 'Minutes of Monday')
    await page.getByRole('link', { name: 'Minutes of Monday' }).waitFor()
    await examine(world, 'drafts')
  })

  test('an address that is not complete is told when the draft is sent, and the rest is saved', async () => {
    const { id } = await create('Mistaken')
    await open('Mistaken')
    await field('To').fill('not-an-address')
    await field('Message').fill('Saved all the same.')
    await until(async () => (await stored(id)).body === 'Saved all the same.')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog().getByText('“not-an-address” must have a domain after an @').waitFor()
    await examine(world, 'draft-mistaken')
    await field('To').fill('bea@two.example')
    await until(async () => (await stored(id)).to[0] === 'bea@two.example')
    await untilSaved()
    await world.page.keyboard.press('Escape')
  })

  test('a change from elsewhere is told, and either version can be kept', async () => {
    const { client } = world
    const { id } = await create('Shared')
    await open('Shared')
    await client.drafts.update(id, { body: 'Written by an agent.' })
    await field('Message').fill('Written by me.')
    const notice = dialog().getByText('The draft was changed elsewhere')
    await notice.waitFor()
    await dialog().getByText('Not saved', { exact: true }).waitFor()
    assert.equal((await stored(id)).body, 'Written by an agent.')
    await examine(world, 'draft-changed')
    await dialog().getByRole('button', { name: 'Load that version' }).click()
    await notice.waitFor({ state: 'detached' })
    assert.equal(await field('Message').inputValue(), 'Written by an agent.')

    await client.drafts.update(id, { body: 'Again by the agent.' })
    await field('Message').fill('Mine after all.')
    await notice.waitFor()
    await dialog().getByRole('button', { name: 'Keep mine' }).click()
    await notice.waitFor({ state: 'detached' })
    await untilSaved()
    assert.equal((await stored(id)).body, 'Mine after all.')

    await client.drafts.delete(id)
    await field('Message').fill('Too late.')
    await dialog().getByText('The draft no longer exists').waitFor()
    await dialog().getByRole('button', { name: 'Save as a new draft' }).click()
    await untilSaved()
    const [anew] = (await client.drafts.list(inbox.id).page()).data
    assert.deepEqual([anew?.subject, anew?.body], ['Shared', 'Too late.'])
    await world.page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
  })

  test('a draft is sent as it is shown, now or later, and is gone', async () => {
    const { page, client } = world
    const now = await create('Now')
    await open('Now')
    await field('Message').fill('The last words.')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('Message queued').waitFor()
    await assert.rejects(stored(now.id), { code: 'not_found' })
    const newest = async () => (await client.messages.list(inbox.id, { limit: 1 }).page()).data[0]
    const sent = await newest()
    assert.deepEqual([sent?.subject, sent?.bodyText], ['Now', 'The last words.'])

    await create('Tomorrow')
    await open('Tomorrow')
    await dialog().getByLabel('Send later').check()
    await dialog().getByRole('button', { name: 'Schedule' }).click()
    await dialog().waitFor({ state: 'detached' })
    const planned = await newest()
    assert.deepEqual([planned?.subject, planned?.status], ['Tomorrow', 'pending'])
    assert.ok(planned?.scheduledAt)
  })

  test('a reply to all goes to those whom it shows, also when somebody else writes meanwhile', async () => {
    const { client } = world
    const more = 'Cc: cy@three.example\r\n'
    await world.deliver(inbox.address, plainMail({ subject: 'Everybody', text: 'Who?', more }))
    const [asked] = (await client.messages.list(inbox.id, { direction: 'inbound' }).page()).data
    const threadId = asked?.threadId ?? ''
    const reply = { threadId, replyAll: true, body: 'I do.' }
    const { id } = await client.drafts.create(inbox.id, reply)
    await open('Reply', 'Reply to all')
    assert.equal(
      await inThread('Reply to all').getByLabel('To', { exact: true }).inputValue(),
      'Ann Other <ann@stranger.example>',
    )
    const shown = await inThread('Reply to all').getByLabel('Cc', { exact: true }).inputValue()
    assert.ok(shown.includes('cy@three.example'))
    const late = `In-Reply-To: ${asked?.rfcMessageId}\r\nCc: stranger@seven.example\r\n`
    await world.deliver(
      inbox.address,
      plainMail({ subject: 'Re: Everybody', text: 'And?', more: late }),
    )
    assert.equal((await stored(id)).replyAll, true)
    await inThread('Reply to all').getByRole('button', { name: 'Send', exact: true }).click()
    await inThread('Reply to all').waitFor({ state: 'detached' })
    const [sent] = (await client.messages.list(inbox.id, { direction: 'outbound' }).page()).data
    assert.equal(sent?.threadId, threadId)
    assert.deepEqual(sent?.to, ['Ann Other <ann@stranger.example>'])
    assert.deepEqual([...(sent?.cc ?? [])].sort(), shown.split(', ').sort())
  })

  test('text that was typed right before the window was closed is found again', async () => {
    const { client, browser } = world
    const received = await client.sandbox.receive({
      from: 'Eve Adams <eve@five.example>',
      to: inbox.address,
      subject: 'Closing time',
      text: 'Are you there?',
    })
    const threadId = received.data[0]?.threadId ?? ''
    const path = `/console/inboxes/${inbox.id}/threads/${threadId}`
    const other = await browser.context.newPage()
    await other.goto(world.service.baseUrl + path)
    await other.locator('.message.open').waitFor()
    await other.keyboard.press('r')
    const written = 'All of this was typed at once, and the window was closed at once.'
    await other.getByLabel('Message', { exact: true }).fill(written)
    await other.close({ runBeforeUnload: true })
    await until(async () =>
      (await client.drafts.list(inbox.id).page()).data.some(({ body }) => body === written),
    )
    await world.open(path)
    await world.page.getByRole('button', { name: /^Draft All of this/ }).click()
    const text = inThread('Reply').getByLabel('Message', { exact: true })
    assert.equal(await text.inputValue(), written)
  })

  test('two windows with one draft: the later is told, and no text is lost', async () => {
    const { page, browser } = world
    await create('Twice')
    await open('Twice')
    const other = await browser.context.newPage()
    await other.goto(page.url())
    await other.getByRole('link', { name: 'Twice', exact: true }).click()
    const there = other.getByRole('dialog', { name: 'Draft' })
    await there.getByLabel('Message', { exact: true }).fill('From the other window.')
    await there.getByText('Saved', { exact: true }).waitFor()
    await field('Message').fill('From this window.')
    await page.keyboard.press('Escape')
    await dialog().getByText('The draft was changed elsewhere').waitFor()
    assert.equal(await field('Message').inputValue(), 'From this window.')
    await dialog().getByRole('button', { name: 'Keep mine' }).click()
    await untilSaved()
    await other.close()
    await page.keyboard.press('Escape')
  })

  test('a forward is a draft too, and its original goes with it once', async () => {
    const { page, client } = world
    const received = await client.sandbox.receive({
      from: 'dan@four.example',
      to: inbox.address,
      subject: 'Pass it on',
      text: 'The news.',
    })
    const threadId = received.data[0]?.threadId ?? ''
    await world.open(`/console/inboxes/${inbox.id}/threads/${threadId}`)
    await page.locator('.message.open').waitFor()
    await page.keyboard.press('f')
    await inThread('Forward').getByLabel('Message (optional)').fill('See below.')
    await page.keyboard.press('Escape')
    await page.getByText('Saved in Drafts').waitFor()
    await open('Fwd: Pass it on', 'Forward')
    await inThread('Forward').getByLabel('To', { exact: true }).fill('gil@six.example')
    await inThread('Forward').getByRole('button', { name: 'Send', exact: true }).click()
    await inThread('Forward').waitFor({ state: 'detached' })
    const { data } = await client.messages.list(inbox.id, { to: 'gil@six.example' }).page()
    assert.equal(data.length, 1)
    assert.match(data[0]?.bodyText ?? '', /^See below\.[\s\S]*The news\./)
    const left = (await client.drafts.list(inbox.id).page()).data
    assert.equal(left.filter(({ subject }) => subject === 'Fwd: Pass it on').length, 0)
  })

  test('recipients are completed by keyboard from those who wrote before, with their names', async () => {
    const { page, client } = world
    await world.deliver(
      inbox.address,
      plainMail({
        from: 'Maria Oliveira <maria@seven.example>',
        subject: 'A word',
        text: 'Hello.',
      }),
    )
    await world.open(`/console/inboxes/${inbox.id}`)
    await page.locator('.thread').first().waitFor()
    await page.keyboard.press('c')
    const to = dialog().getByRole('combobox', { name: 'To', exact: true })
    await to.pressSequentially('bea@two.example, oliv')
    const option = dialog().getByRole('option', { name: /Maria Oliveira/ })
    await option.waitFor()
    assert.equal(await to.getAttribute('aria-expanded'), 'true')
    assert.equal(await to.getAttribute('aria-activedescendant'), await option.getAttribute('id'))
    await examine(world, 'compose-suggestions')
    await page.keyboard.press('Enter')
    const completed = 'bea@two.example, Maria Oliveira <maria@seven.example>, '
    assert.equal(await to.inputValue(), completed)
    await field('Subject').fill('Completed')
    await field('Message').fill('Hello Maria.')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    const [sent] = (await client.messages.list(inbox.id, { direction: 'outbound' }).page()).data
    assert.deepEqual(sent?.to, ['bea@two.example', 'Maria Oliveira <maria@seven.example>'])
  })

  test('a reply is opened in its conversation, and stays in it', async () => {
    const { page, client } = world
    const received = await client.sandbox.receive({
      from: 'dan@four.example',
      to: inbox.address,
      subject: 'Who comes?',
      text: 'Do you?',
    })
    const threadId = received.data[0]?.threadId ?? ''
    const { id } = await client.drafts.create(inbox.id, { threadId, body: 'I do.' })
    await open('Reply', 'Reply')
    await page.getByRole('heading', { name: 'Who comes?', level: 2 }).waitFor()
    assert.equal(
      await inThread('Reply').getByLabel('To', { exact: true }).inputValue(),
      'dan@four.example',
    )
    await inThread('Reply').getByRole('button', { name: 'Send', exact: true }).click()
    await inThread('Reply').waitFor({ state: 'detached' })
    await page.getByText('Message queued').waitFor()
    await assert.rejects(stored(id), { code: 'not_found' })
    const { messageCount } = await client.threads.get(threadId)
    assert.equal(messageCount, 2)

    assert.deepEqual(foreignRequests(world), [])
  })
})
