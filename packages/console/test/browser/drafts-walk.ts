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

  const dialog = () => world.page.getByRole('dialog', { name: 'Draft' })
  const field = (label: string) => dialog().getByLabel(label, { exact: true })
  const stored = async (id: string): Promise<Draft> => world.client.drafts.get(id)
  const untilSaved = () => dialog().getByText('Saved', { exact: true }).waitFor()
  const create = (subject: string) =>
    world.client.drafts.create(inbox.id, { to: 'ann@one.example', subject, body: 'Some words.' })
  const open = async (subject: string) => {
    await world.open(`/console/drafts?inbox=${inbox.id}`)
    await world.page.getByRole('link', { name: subject, exact: true }).click()
    await field('To').waitFor()
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
    const [made] = (await client.drafts.list(inbox.id).page()).data
    const id = made?.id ?? ''
    await until(async () => (await stored(id)).body === 'As agreed.')
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
    await examine(world, 'draft')
    await field('Subject').fill('Minutes of Monday')
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    assert.equal((await stored(id)).subject, 'Minutes of Monday')
    await page.getByRole('link', { name: 'Minutes of Monday' }).waitFor()
    await examine(world, 'drafts')
  })

  test('a mistake is told at its field, and the rest waits for its correction', async () => {
    const { id } = await create('Mistaken')
    await open('Mistaken')
    await field('To').fill('not-an-address')
    await dialog().getByText('Not saved: correct the fields marked below.').waitFor()
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
    await open('Reply')
    assert.equal(await field('To').inputValue(), 'ann@stranger.example')
    const shown = await field('Cc').inputValue()
    assert.ok(shown.includes('cy@three.example'))
    const late = `In-Reply-To: ${asked?.rfcMessageId}\r\nCc: stranger@seven.example\r\n`
    await world.deliver(
      inbox.address,
      plainMail({ subject: 'Re: Everybody', text: 'And?', more: late }),
    )
    assert.equal((await stored(id)).replyAll, true)
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    const [sent] = (await client.messages.list(inbox.id, { direction: 'outbound' }).page()).data
    assert.equal(sent?.threadId, threadId)
    assert.deepEqual(sent?.to, ['Ann Other <ann@stranger.example>'])
    assert.deepEqual([...(sent?.cc ?? [])].sort(), shown.split(', ').sort())
  })

  test('a reply keeps its conversation, and a draft is deleted after a question', async () => {
    const { page, client } = world
    const received = await client.sandbox.receive({
      from: 'dan@four.example',
      to: inbox.address,
      subject: 'Who comes?',
      text: 'Do you?',
    })
    const threadId = received.data[0]?.threadId ?? ''
    const { id } = await client.drafts.create(inbox.id, { threadId, body: 'I do.' })
    await open('Reply')
    assert.equal(await field('To').inputValue(), 'dan@four.example')
    await dialog().getByRole('button', { name: 'Send', exact: true }).click()
    await dialog().waitFor({ state: 'detached' })
    await page.getByText('Message queued').waitFor()
    await assert.rejects(stored(id), { code: 'not_found' })
    const { messageCount } = await client.threads.get(threadId)
    assert.equal(messageCount, 2)

    const never = await create('Never')
    await open('Never')
    await dialog().getByRole('button', { name: 'Delete' }).click()
    const question = page.getByRole('dialog', { name: 'Delete this draft?' })
    await examine(world, 'draft-delete')
    await question.getByRole('button', { name: 'Delete draft' }).click()
    await page.getByText('Draft deleted').waitFor()
    await assert.rejects(stored(never.id), { code: 'not_found' })
    assert.deepEqual(foreignRequests(world), [])
  })
})
