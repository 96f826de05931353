import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorCodes } from '@mailroom/contract/error-codes.ts'
import { operationIds, operationOf } from '@mailroom/contract/operations.ts'
import type { Inbox, Mailroom, MessageToSend } from '@mailroom/sdk'
import { Command } from 'commander'
import { addOperatorCommands } from '#commands/command-line.ts'
import { LIMIT_SETTINGS } from '#config/settings.ts'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { PLAIN } from '#test/scenarios/sending-world.ts'
import { onAnyEngine, opened, openWorld } from '#test/world.ts'

const settings = new Set<string>(Object.values(LIMIT_SETTINGS).map(({ name }) => name))
const routes = new Set(
  operationIds.map((id) => `${operationOf(id).method} ${operationOf(id).path}`),
)

/** Every setting, route and command that the text names; each of them must exist. */
function remediesOf(fix: string): string[] {
  const named = fix.match(/MAILROOM_\w+|(GET|POST|PATCH|PUT|DELETE) \/[^\s,:.]*/g) ?? []
  for (const name of named) assert.ok(settings.has(name) || routes.has(name), name)
  const command = /mailroom admin ([a-z-]+) ([a-z-]+)/.exec(fix)
  if (command === null) return named
  assert.ok(hasCommand(command.slice(1)), command[0])
  return [...named, command[0]]
}

function hasCommand([group, name]: string[]): boolean {
  const program = new Command()
  addOperatorCommands(program)
  const found = program.commands.find((one) => one.name() === group)
  return found?.commands.some((one) => one.name() === name) ?? false
}

test('the fix of each limit names a setting, a command or a route that exists', () => {
  const limits = Object.entries(errorCodes).filter(
    ([code]) => /limit|quota|paid_plan/.test(code) && code !== 'rate_limit_exceeded',
  )
  assert.ok(limits.length > 15)
  for (const [code, { fix }] of limits as [string, { fix: string }][]) {
    assert.ok(remediesOf(fix).length > 0, code)
  }
})

onAnyEngine('a refusal by a limit names what the operator can change:', () => {
  const world = opened(() =>
    openWorld('sqlite', {
      env: {
        MAILROOM_LIMIT_API_PER_MINUTE: '60',
        MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE: '1',
        MAILROOM_LIMIT_INBOXES_PER_DAY: '4',
        MAILROOM_LIMIT_SENDS_PER_MINUTE: '3',
        MAILROOM_LIMIT_SENDS_PER_DAY: '4',
        MAILROOM_LIMIT_COLD_PER_DAY: '2',
        MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY: '3',
        MAILROOM_LIMIT_HELD_PER_INBOX: '1',
        MAILROOM_LIMIT_IMPORT_BYTES: '10',
        MAILROOM_LIMIT_UPLOADED_BYTES_PER_ACCOUNT: '10',
        MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT: '20000',
      },
    }),
  )

  async function fixOf(request: Promise<unknown>): Promise<string> {
    const fix = (await refusalOf(request)).fix ?? ''
    assert.ok(remediesOf(fix).length > 0, fix)
    return fix
  }

  const sendTo = (client: Mailroom, inbox: Inbox, fields: Partial<MessageToSend>) =>
    client.inboxes.send(inbox.id, { ...PLAIN, ...fields })

  test('the plan, by a command with the id of the account', async () => {
    const { client, id } = await world.newAccount('free')
    const inbox = await client.inboxes.create()
    const paid = await fixOf(sendTo(client, inbox, { replyTo: 'desk@elsewhere.example' }))
    assert.ok(paid.endsWith(`mailroom admin account set-plan --account ${id} --plan developer`))
    await client.inboxes.create()
    await client.inboxes.create()
    const full = await fixOf(client.inboxes.create())
    assert.ok(full.endsWith(`mailroom admin account set-plan --account ${id} --plan launch`))
  })

  test('requests a minute, and failed sign-ins', async () => {
    const { client } = await world.newAccount()
    for (let count = 0; count < 60; count++) await client.pods.list().page()
    assert.match(await fixOf(client.pods.list().page()), /MAILROOM_LIMIT_API_PER_MINUTE/)
    const stranger = world.clientWith('mr_unknown')
    await refusalOf(stranger.pods.list().page())
    const locked = await fixOf(stranger.pods.list().page())
    assert.match(locked, /MAILROOM_LIMIT_FAILED_AUTH_PER_MINUTE/)
  })

  test('new inboxes a day', async () => {
    const { client } = await world.newAccount()
    for (let count = 0; count < 4; count++) await client.inboxes.create()
    assert.match(await fixOf(client.inboxes.create()), /MAILROOM_LIMIT_INBOXES_PER_DAY/)
  })

  test('sends in a minute and in a day', async () => {
    const { client } = await world.newAccount()
    const [inbox, own] = [await client.inboxes.create(), await client.inboxes.create()]
    const sendOwn = () => sendTo(client, inbox, { to: own.address })
    for (let count = 0; count < 3; count++) await sendOwn()
    assert.match(await fixOf(sendOwn()), /MAILROOM_LIMIT_SENDS_PER_MINUTE/)
    world.clock.advance(60_000)
    await sendOwn()
    assert.match(await fixOf(sendOwn()), /MAILROOM_LIMIT_SENDS_PER_DAY/)
  })

  test('strangers a day, of an inbox and of the account', async () => {
    const { client } = await world.newAccount()
    const [first, second] = [await client.inboxes.create(), await client.inboxes.create()]
    const strangers = (count: number) =>
      Array.from({ length: count }, (_, index) => `stranger-${index}@partner.example`)
    const tooMany = await fixOf(sendTo(client, first, { to: strangers(3) }))
    assert.match(tooMany, /^Send to at most 2 .*MAILROOM_LIMIT_COLD_PER_DAY/)
    await sendTo(client, first, { to: strangers(2) })
    const more = await fixOf(sendTo(client, first, { to: 'other@partner.example' }))
    assert.match(more, /^Repeat .*MAILROOM_LIMIT_COLD_PER_DAY/)
    const ofAccount = await fixOf(sendTo(client, second, { to: strangers(2) }))
    assert.match(ofAccount, /MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY/)
  })

  test('messages that await approval', async () => {
    const { client } = await world.newAccount()
    const inbox = await client.inboxes.create()
    const { token } = await client.approvers.create({ name: 'Ann' })
    const guards = { newRecipients: 'hold' } as const
    await world.clientWith(token).policy.replace({ outbound: { guards } })
    await sendTo(client, inbox, {})
    assert.match(await fixOf(sendTo(client, inbox, {})), /MAILROOM_LIMIT_HELD_PER_INBOX/)
  })

  test('stored mail, uploads, and the size of an import', async () => {
    const { client } = await world.newAccount()
    const [inbox, own] = [await client.inboxes.create(), await client.inboxes.create()]
    const large = client.imports.create(inbox.id, Buffer.from('From a@b.example'))
    assert.match(await fixOf(large), /MAILROOM_LIMIT_IMPORT_BYTES/)
    const upload = client.uploads.create(Buffer.alloc(11), { filename: 'a.bin' })
    assert.match(await fixOf(upload), /MAILROOM_LIMIT_UPLOADED_BYTES_PER_ACCOUNT/)
    await sendTo(client, inbox, { to: own.address, body: 'x'.repeat(20_000) })
    const quota = /MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT/
    assert.match(await fixOf(client.exports.create({ inboxId: inbox.id, format: 'mbox' })), quota)
    assert.match(await fixOf(client.drafts.create(inbox.id, { subject: 'Later' })), quota)
    const sendAt = new Date(world.clock.now() + 3_600_000).toISOString()
    assert.match(await fixOf(sendTo(client, inbox, { to: own.address, sendAt })), quota)
  })
})
