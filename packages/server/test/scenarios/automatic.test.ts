// Mail sent by programs is received as any other and marked with the reason (RFC 3834), and nothing
// answers it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countRows, deliver } from '#test/scenarios/deliver.ts'
import { onAnyEngine, opened, openWorld, plainMail } from '#test/world.ts'

const MARKS: [header: string, reason: string | null][] = [
  ['Auto-Submitted: auto-replied', 'auto-submitted'],
  ['Auto-Submitted: auto-generated; owner-email="a@x.example"', 'auto-submitted'],
  ['AUTO-SUBMITTED: Auto-Replied (vacation)', 'auto-submitted'],
  ['Auto-Submitted: no', null],
  ['Auto-Submitted: No; comment', null],
  ['Precedence: bulk', 'precedence'],
  ['Precedence: junk', 'precedence'],
  ['Precedence: LIST', 'precedence'],
  ['Precedence: first-class', null],
  ['List-Id: A list <list.x.example>', 'list'],
  ['List-Unsubscribe: <mailto:off@x.example>', 'list'],
  ['X-Auto-Response-Suppress: All', 'auto-response-suppress'],
  ['X-Auto-Response-Suppress: None', null],
  ['X-Autoreply: yes', 'auto-submitted'],
  ['X-Mailer: A person at a keyboard', null],
]

onAnyEngine('automatic mail', (engine) => {
  const world = opened(() => openWorld(engine))

  for (const [header, reason] of MARKS) {
    test(`with "${header}" is ${reason === null ? 'not marked' : `marked as ${reason}`}`, async () => {
      const inbox = await world.inbox()
      const raw = plainMail({ to: inbox.address, headers: [header] })
      const message = await deliver(world, inbox, raw)
      assert.deepEqual([message.automatic, message.automaticReason], [reason !== null, reason])
    })
  }

  for (const address of ['MAILER-DAEMON@x.example', 'no-reply@x.example', 'postmaster@x.example']) {
    test(`from ${address} is marked as from a system`, async () => {
      const inbox = await world.inbox()
      const raw = plainMail({ to: inbox.address, from: `A system <${address}>` })
      const message = await deliver(world, inbox, raw)
      assert.deepEqual([message.automatic, message.automaticReason], [true, 'system-sender'])
    })
  }

  test('with the null sender is marked, whatever its header says', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, headers: ['Auto-Submitted: no'] })
    const message = await deliver(world, inbox, raw, '')
    assert.deepEqual([message.automatic, message.automaticReason], [true, 'null-sender'])
    assert.equal(message.fromAddr, 'Ann Sender <ann@sender.example>')
  })

  test('that says it in its header and its envelope keeps the reason of the header', async () => {
    const inbox = await world.inbox()
    const raw = plainMail({ to: inbox.address, headers: ['Auto-Submitted: auto-replied'] })
    assert.equal((await deliver(world, inbox, raw, '')).automaticReason, 'auto-submitted')
  })

  test('is a report where its type says so', async () => {
    const inbox = await world.inbox()
    const headers = ['Content-Type: multipart/report; report-type=delivery-status; boundary=b']
    const body = '--b\n\nThe report.\n--b--'
    const message = await deliver(world, inbox, plainMail({ to: inbox.address, headers, body }))
    assert.equal(message.automatic, true)
  })

  test('is answered by nobody: no job was queued for all of it', async () => {
    assert.equal(await countRows(world, 'jobs'), 0)
  })
})
