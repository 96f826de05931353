import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event, EventOf } from '@mailroom/sdk'

// The compiler is the test of these types.

function summaryOf(event: Event): string {
  switch (event.event) {
    case 'message.received':
      return `${event.inbox_id.length} ${event.message.subject}`
    case 'message.bounced':
      return bounceOf(event)
    case 'review.created':
      return event.review.digest
    case 'thread.released':
      return event.claim.reason
    default:
      // Every part may be read from an event of any kind.
      return event.message?.subject ?? event.domain?.status ?? event.event
  }
}

function bounceOf({ recipient, bounce }: EventOf<'message.bounced'>): string {
  return `${recipient} ${bounce.class}`
}

const envelope = {
  event_id: 'evt_1',
  occurred_at: '2026-11-20T09:00:00.000Z',
  delivered_at: '2026-11-20T09:00:00.000Z',
  attempt: 1,
  inbox_id: 'inb_1',
  pod_id: null,
  thread_id: 'thr_1',
}

test('the type of an event decides which parts it has', () => {
  const claim = { owner: 'worker', fence: 3, expires_at: '2026-11-20T09:05:00.000Z' }
  const released = { ...claim, reason: 'expired' } as const
  assert.equal(summaryOf({ ...envelope, event: 'thread.released', claim: released }), 'expired')
  assert.equal(summaryOf({ ...envelope, event: 'thread.claimed', claim }), 'thread.claimed')
})
