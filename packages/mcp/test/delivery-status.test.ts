import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { opened, openTenant } from '@mailroom/server/test/world.ts'
import { Access } from '@mailroom/tools/access.ts'
import { unrestricted } from '@mailroom/tools/restriction.ts'
import { getDeliveryStatus } from '@mailroom/tools/sending-tools.ts'

const world = opened(() => openTenant('sqlite'))

test('a message is not pending once its only recipient accepted it', {
  timeout: 60_000,
}, async () => {
  const inbox = await world.inbox()
  const { client } = world
  const sent = await client.inboxes.send(inbox.id, {
    to: 'ann@firm.example',
    subject: 'Hi',
    body: 'Hi',
  })
  while ((await client.messages.get(sent.messageId)).status === 'pending') await sleep(20)
  let asked = 0
  const access = new Access({
    client: client.withOptions({
      // The first response about the message dates from before its recipient was settled.
      async fetch(...request) {
        const response = await fetch(...request)
        const { pathname } = new URL(response.url)
        if (pathname !== `/v1/messages/${sent.messageId}` || asked++ > 0) return response
        const body = { ...((await response.json()) as object), status: 'pending' }
        return new Response(JSON.stringify(body), response)
      },
    }),
    restriction: unrestricted,
    isSandbox: true,
    onFault: assert.fail,
  })
  const { signal } = new AbortController()
  const call = { access, signal, has: () => true, progress: async () => {} }
  const told = await getDeliveryStatus.run({ message_id: sent.messageId }, call)
  assert.match(String(told), /is sent\. Recipients:\n.*\n- ann@firm\.example · accepted/)
})
