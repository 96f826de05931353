import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeliveryStatus, deliveryStatuses } from '@mailroom/contract/vocabulary.ts'
import { FAILURE_REASON_LENGTH_MAX, messageStateOf } from '#outbound/deliveries/store/settle.ts'

const recipient = (status: DeliveryStatus, index = 0, response = 'words') => ({
  recipient: `r${index}@far.example`,
  status,
  response_code: 550,
  enhanced_code: '5.1.1',
  response,
})

const OPEN: readonly DeliveryStatus[] = ['queued', 'deferred']
const REFUSED: readonly DeliveryStatus[] = ['failed', 'unknown', 'bounced']

test('any three recipients: pending while one is open, sent when one was accepted, else failed', () => {
  let count = 0
  for (const a of deliveryStatuses) {
    for (const b of deliveryStatuses) {
      for (const c of deliveryStatuses) {
        const statuses = [a, b, c]
        const { status, failure_reason } = messageStateOf(statuses.map((one) => recipient(one)))
        const isOpen = statuses.some((one) => OPEN.includes(one))
        const isFailed = statuses.every((one) => REFUSED.includes(one))
        assert.equal(status, isOpen ? 'pending' : isFailed ? 'failed' : 'sent', statuses.join())
        const isRefused = statuses.some((one) => REFUSED.includes(one))
        assert.equal(failure_reason !== null, isRefused, statuses.join())
        count += 1
      }
    }
  }
  assert.equal(count, 343)
})

test('the reason names each refused recipient with its server’s words, and no others', () => {
  const state = messageStateOf([
    recipient('accepted', 1),
    recipient('failed', 2, 'No such user'),
    { ...recipient('unknown', 3, 'No answer'), response_code: null, enhanced_code: null },
  ])
  assert.equal(
    state.failure_reason,
    'r2@far.example: 550 5.1.1 No such user; r3@far.example: No answer',
  )
})

test('a reason that is too long is cut and marked', () => {
  const fitting = (length: number) => {
    const { failure_reason } = messageStateOf([recipient('failed', 1, 'x'.repeat(length))])
    return failure_reason ?? ''
  }
  const room = FAILURE_REASON_LENGTH_MAX - 'r1@far.example: 550 5.1.1 '.length
  assert.equal(fitting(room).length, FAILURE_REASON_LENGTH_MAX)
  assert.ok(fitting(room).endsWith('x'))
  assert.equal(fitting(room + 1).length, FAILURE_REASON_LENGTH_MAX)
  assert.ok(fitting(room + 1).endsWith('…'))
})
