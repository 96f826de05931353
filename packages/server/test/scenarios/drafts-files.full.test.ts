import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '#test/scenarios/outcomes.ts'
import { openSendingTenant } from '#test/scenarios/sending-world.ts'
import { onEachEngine, opened } from '#test/world.ts'

const MIB = 1024 * 1024

onEachEngine('drafts', (engine) => {
  const world = opened(() => openSendingTenant(engine))

  test('have files of at most 25 MiB together', async () => {
    const inbox = await world.inbox()
    const file = (size: number) => ({
      filename: 'a',
      contentType: 'text/plain',
      data: Buffer.alloc(size),
    })
    const draft = await world.client.drafts.create(inbox.id, { attachments: [file(15 * MIB)] })
    await assert.rejects(world.client.drafts.addAttachment(draft.id, file(11 * MIB)), {
      code: 'payload_too_large',
    })
    const { attachments } = await world.client.drafts.addAttachment(draft.id, file(10 * MIB))
    assert.equal(attachments.length, 2)
    const body = { filename: 'a', contentType: 'text/plain', data: 'not base64!' }
    const error = await refusalOf(world.client.drafts.addAttachment(draft.id, body))
    assert.deepEqual([error.code, error.details?.[0]?.path], ['bad_request', 'data'])
  })
})
