import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WaitOptions } from '@mailroom/sdk'
import { Mailroom } from '@mailroom/sdk'
import { openPeer, type Peer, type Step } from './peer.ts'

type Status = 'pending' | 'sent'

const sent = (number: number, status: Status) => ({
  id: `msg_${number}`,
  direction: 'outbound',
  status,
  threadId: 'thr_1',
  fromAddr: 'agent@example.com',
  subject: `Number ${number}`,
  createdAt: `2026-11-20T09:00:0${number}.000Z`,
})

/** Newest first. */
const page = (...data: object[]): Step => ({ body: { data, total: data.length } })
const nothing: Step = { body: { message: null } }

async function wait(
  steps: Step[],
  options: WaitOptions = {},
): Promise<{ found: string | undefined; peer: Peer }> {
  await using peer = await openPeer(...steps)
  const client = new Mailroom({ baseUrl: peer.baseUrl, apiKey: 'key' })
  const wanted = { direction: 'outbound', timeoutMs: 60_000, ...options } as const
  const message = await client.inboxes.waitForMessage('inb_1', wanted)
  return { found: message?.id, peer }
}

test('the outcome of a message that was pending at the beginning is awaited', async () => {
  const body = { message: sent(2, 'sent') }
  const before = page(sent(2, 'pending'), sent(1, 'sent'))
  const { found, peer } = await wait([before, { body }, page(sent(2, 'sent'), sent(1, 'sent'))])
  assert.equal(found, 'msg_2')
  // A wait after the message itself would find only its next event.
  const query = new URLSearchParams(peer.requests[1]?.url.split('?')[1])
  assert.deepEqual(Object.fromEntries(query), { timeout: '60', direction: 'outbound' })
})

test('an outcome between two requests is found, and an earlier one is not', async () => {
  const before = page(sent(3, 'pending'), sent(2, 'pending'), sent(1, 'sent'))
  const still = page(sent(4, 'pending'), sent(3, 'pending'), sent(2, 'pending'), sent(1, 'sent'))
  const older = page(sent(4, 'pending'), sent(3, 'pending'), sent(2, 'sent'), sent(1, 'sent'))
  assert.equal((await wait([before, nothing, still, nothing, older])).found, 'msg_2')
  const newer = page(sent(4, 'sent'), sent(3, 'pending'), sent(2, 'pending'), sent(1, 'sent'))
  assert.equal((await wait([before, nothing, still, nothing, newer])).found, 'msg_4')
  const all = page(sent(4, 'sent'), sent(3, 'sent'), sent(2, 'sent'), sent(1, 'sent'))
  assert.equal((await wait([before, nothing, all], { subject: 'number 3' })).found, 'msg_3')
  assert.equal((await wait([page(), nothing, page(sent(1, 'sent'))])).found, 'msg_1')
})

test('mail of another category between two requests is not the one that is waited for', async () => {
  const received = (number: number, category: string) => ({
    ...sent(number, 'sent'),
    direction: 'inbound',
    category,
  })
  const arrived = page(received(2, 'personal'), received(1, 'marketing'))
  const wanted = { direction: 'inbound', category: 'personal' } as const
  assert.equal((await wait([page(), nothing, arrived], wanted)).found, 'msg_2')
})

test('a given message or event is passed to the service as the start of the wait', async () => {
  const { found, peer } = await wait([nothing, { body: { message: sent(2, 'sent') } }], {
    after: 'msg_2',
  })
  assert.equal(found, 'msg_2')
  assert.deepEqual(
    peer.requests.map(({ url }) => new URLSearchParams(url.split('?')[1]).get('after')),
    ['msg_2', 'msg_2'],
  )
})
