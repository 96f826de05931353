// A person writes to several, answers everybody and passes mail on; what is refused is told at its field. What was
// sent is read from the service.

import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Inbox, Message } from '@mailroom/sdk'
import { examine } from '#test/browser/axe.ts'
import {
  type ConsoleWorld,
  chooseInMenu,
  foreignRequests,
  openConsoleWorld,
  plainMail,
} from '#test/browser/console-world.ts'

suite('sending in the console', () => {
  let world: ConsoleWorld
  let inbox: Inbox

  before(async () => {
    world = await openConsoleWorld()
    inbox = await world.client.inboxes.create({ mailboxName: 'sales', displayName: 'Sales' })
    await world.signIn(`/console/inboxes/${inbox.id}`)
  })
  after(() => world.close())

  const dialogOf = (name: string) =>
    world.page.getByRole(name === 'New message' ? 'dialog' : 'region', { name, exact: true })
  const newestSent = async (): Promise<Message> => {
    const { data } = await world.client.messages
      .list(inbox.id, { direction: 'outbound', limit: 1 })
      .page()
    assert.ok(data[0] !== undefined)
    return data[0]
  }
  const send = async (name: string) => {
    await dialogOf(name).getByRole('button', { name: 'Send', exact: true }).click()
    await dialogOf(name).waitFor({ state: 'detached' })
  }
  /** Of the change right before the draft is sent. */
  const bodyOfNext = (path: RegExp) =>
    world.page
      .waitForRequest(
        (request) =>
          request.method() !== 'GET' &&
          path.test(request.url()) &&
          request.postDataJSON().replyAll === true,
      )
      .then((request) => request.postDataJSON())

  test('a pasted list with a mistake is told entry by entry, and corrected it reaches everybody', async () => {
    const { page } = world
    await page.keyboard.press('c')
    const dialog = dialogOf('New message')
    const to = dialog.getByLabel('To', { exact: true })
    await to.fill('"Bond, Ann" <ann@one.example>; bea@two.example not-an-address\tcy@three.example')
    const add = async (name: string, text: string) => {
      await dialog.getByRole('button', { name: `Add ${name}` }).press('Enter')
      await page.locator(`label:has-text("${name}") + input:focus`).waitFor()
      await page.keyboard.type(text)
    }
    await add('Cc', 'Dan <dan@four.example>, eve@')
    await add('Bcc', 'fay@five.example')
    await add('Reply-To', inbox.address)
    await dialog.getByLabel('Subject').fill('To several')
    await dialog.getByLabel('Message', { exact: true }).fill('Hello all.')
    await page.keyboard.press('Control+Enter')
    await dialog.getByText('The message was not sent: correct the fields marked below.').waitFor()
    await dialog.getByText('“not-an-address” must have a domain after an @').waitFor()
    await dialog.getByText(/^“eve@” must/).waitFor()
    await examine(world, 'compose-mistakes')
    await to.fill('"Bond, Ann" <ann@one.example>; bea@two.example cy@three.example')
    await dialog.getByLabel('Cc', { exact: true }).fill('Dan <dan@four.example>')
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const { to: sentTo, cc, bcc, replyTo } = await newestSent()
    const named = '"Bond, Ann" <ann@one.example>'
    assert.deepEqual(sentTo, [named, 'bea@two.example', 'cy@three.example'])
    assert.deepEqual(cc, ['Dan <dan@four.example>'])
    assert.deepEqual(bcc, ['fay@five.example'])
    assert.equal(replyTo, inbox.address)
    await page.getByText(/bcc fay@five\.example/).waitFor()
  })

  test('a reply to all shows whom it reaches, and the service derives the same', async () => {
    const { page } = world
    const [name, host] = inbox.address.split('@')
    const more = `Reply-To: desk@one.example\r\nCc: Bea <bea@two.example>, ${name}+tag@${host}, cy@three.example\r\n`
    await world.deliver(inbox.address, plainMail({ subject: 'Everybody', text: 'Hello.', more }))
    await page.getByRole('link', { name: /Everybody/ }).click()
    await page.locator('.message.open').waitFor()
    await page.keyboard.press('a')
    const dialog = dialogOf('Reply to all')
    const shownTo = await dialog.getByLabel('To', { exact: true }).inputValue()
    const shownCc = await dialog.getByLabel('Cc', { exact: true }).inputValue()
    assert.equal(shownTo, 'desk@one.example')
    await dialog.getByText('Everyone who received the message,').waitFor()
    await examine(world, 'compose-all')
    await dialog.getByLabel('Cc', { exact: true }).fill(`${shownCc}, gil@six.example`)
    await dialog.getByLabel('Message', { exact: true }).fill('To everybody.')
    const asked = bodyOfNext(/\/drafts(?:\/[^/]+)?$/)
    await send('Reply to all')
    const { replyAll, to, cc } = await asked
    assert.deepEqual([replyAll, to ?? null, cc], [true, null, ['gil@six.example']])
    const sent = await newestSent()
    assert.deepEqual(sent.to, shownTo.split(', '))
    const shown = [...shownCc.split(', '), 'gil@six.example']
    assert.deepEqual(sent.cc.map(addressOf).sort(), shown.map(addressOf).sort())
  })

  test('a reply to all that somebody is taken from, or that is late, reaches whom it shows', async () => {
    const { page, client } = world
    const more = 'Cc: bea@two.example, cy@three.example\r\n'
    const first = plainMail({ subject: 'Round two', text: 'First.', more })
    await world.deliver(inbox.address, first)
    const [asked] = (await client.messages.list(inbox.id, { direction: 'inbound' }).page()).data
    assert.ok(asked !== undefined)
    await world.open(`/console/inboxes/${inbox.id}/threads/${asked.threadId}`)
    const dialog = dialogOf('Reply to all')
    await chooseInMenu(page, 'Reply to all')
    const cc = dialog.getByLabel('Cc', { exact: true })
    const shown = (await cc.inputValue()).split(', ').sort()
    // Somebody who was never asked writes in the thread while the answer is written.
    const late = `In-Reply-To: ${asked.rfcMessageId}\r\nCc: stranger@seven.example\r\n`
    await world.deliver(
      inbox.address,
      plainMail({ subject: 'Re: Round two', text: 'Second.', more: late }),
    )
    await dialog.getByLabel('Message', { exact: true }).fill('Only to you three.')
    await send('Reply to all')
    const { threadId, to, cc: sentCc } = await newestSent()
    assert.equal(threadId, asked.threadId)
    assert.deepEqual(to, ['Ann Other <ann@stranger.example>'])
    assert.deepEqual([...sentCc].sort(), shown)

    const card = page.getByRole('article', { name: 'Message from ann@stranger.example' }).first()
    await chooseInMenu(page, 'Reply to all', card)
    await cc.fill('bea@two.example')
    await dialog.getByLabel('Message', { exact: true }).fill('Without the others.')
    await send('Reply to all')
    assert.deepEqual((await newestSent()).cc, ['bea@two.example'])
  })

  test('a reply to all goes to the author when Reply-To is the inbox itself', async () => {
    const { page, client } = world
    const more = `Reply-To: ${inbox.address}\r\nCc: bea@two.example, cy@three.example\r\n`
    await world.deliver(inbox.address, plainMail({ subject: 'Back to you', text: 'So?', more }))
    const [asked] = (await client.messages.list(inbox.id, { direction: 'inbound' }).page()).data
    await world.open(`/console/inboxes/${inbox.id}/threads/${asked?.threadId}`)
    await chooseInMenu(page, 'Reply to all')
    const dialog = dialogOf('Reply to all')
    const shown = await dialog.getByLabel('To', { exact: true }).inputValue()
    await dialog.getByLabel('Message', { exact: true }).fill('So it is.')
    await send('Reply to all')
    const { to, cc } = await newestSent()
    assert.equal(to.join(', '), shown)
    assert.deepEqual(cc, ['in@example.com', 'bea@two.example', 'cy@three.example'])
  })

  test('a message is forwarded with the original, with or without its files', async () => {
    const { page, client } = world
    await client.inboxes.send(inbox.id, {
      to: 'ann@one.example',
      subject: 'The offer',
      body: 'See the file.',
      attachments: [
        { filename: 'offer.txt', contentType: 'text/plain', data: new TextEncoder().encode('10') },
      ],
    })
    const { threadId } = await newestSent()
    const forward = async (isWithFiles: boolean) => {
      await world.open(`/console/inboxes/${inbox.id}/threads/${threadId}`)
      await page.locator('.message.open').waitFor()
      await page.keyboard.press('f')
      const dialog = dialogOf('Forward')
      await page.locator('.inline-head').getByText('Fwd: The offer').waitFor()
      const original = dialog.getByRole('region', { name: 'Forwarded message' })
      await original.getByText('See the file.').waitFor()
      await dialog.getByLabel('To', { exact: true }).fill('bea@two.example, cy@three.example')
      if (isWithFiles) await dialog.getByLabel('Message (optional)').fill('Please look.')
      else await dialog.getByLabel('Attach 1 file of the message').uncheck()
      if (isWithFiles) await examine(world, 'compose-forward')
      await send('Forward')
      return newestSent()
    }
    const whole = await forward(true)
    await page.getByRole('heading', { name: 'Fwd: The offer', level: 2 }).waitFor()
    assert.notEqual(whole.threadId, threadId)
    assert.deepEqual(whole.to, ['bea@two.example', 'cy@three.example'])
    assert.match(whole.bodyText, /^Please look\.[\s\S]*See the file\./)
    assert.deepEqual(
      whole.attachments.map(({ filename }) => filename),
      ['offer.txt'],
    )
    assert.deepEqual((await forward(false)).attachments, [])
  })

  test('no request went to another host', () => {
    assert.deepEqual(foreignRequests(world), [])
  })
})

function addressOf(entry: string): string {
  return entry.replace(/^.*<(.*)>$/, '$1')
}
