// An acknowledged send is on the disk: seen from outside, in the order of the system calls.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeOf } from '@mailroom/mail/test/size-of.ts'
import { databasePath } from '#app/open-store.ts'
import { composeNumber } from './outbound-mail.ts'
import { Sink } from './outbound-sink.ts'
import { Service } from './service.ts'
import { readStored } from './stored.ts'
import { findAnswers, traceSystemCalls } from './system-calls.ts'

const SENDS = sizeOf('TEST_MAILROOM_SYNCED_SENDS', { usual: 30, long: 100 })

test('each 200 to a send stands after a write and a sync of the log', async (t) => {
  const sink = await Sink.open()
  t.after(() => sink.close())
  // Nothing else writes: an answer before its own sync cannot hide behind another sync.
  const service = await Service.start({ env: { ...sink.environment, MAILROOM_ROLES: 'http' } })
  t.after(() => service.close())
  const { client } = service
  const inbox = await client.inboxes.create({})
  await client.inboxes.send(inbox.id, composeNumber(sink, 0))
  const trace = await traceSystemCalls(service.pid)
  if (trace === null) {
    t.diagnostic(
      'strace is absent or not permitted: the order was NOT observed; that the log is set to sync at each commit, and the kills that lost nothing, stand in for it',
    )
    return
  }
  for (let number = 1; number <= SENDS; number++) {
    await client.inboxes.send(inbox.id, composeNumber(sink, number))
  }
  const calls = await trace.stop()
  const log = `${databasePath(service.settings)}-wal`
  const sent = findAnswers(calls, { log, asked: /"POST /, answer: '"HTTP/1.1 200' })
  t.diagnostic(`observed with strace: ${JSON.stringify(sent)}`)
  assert.deepEqual(sent, { answers: SENDS, synced: SENDS })
  await service.kill()
  assert.equal((await readStored(service)).sent.length, SENDS + 1)
})
