import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import type { Report } from '@mailroom/mail-reading/report/report.ts'
import { processAtAbuse } from '#inbound/reports/process-reports.ts'
import type { SendInput } from '#outbound/send/store/accept-send.ts'
import { DAY_MS } from '#platform/units.ts'
import { makeId } from '#test/conformance/open-database.ts'
import {
  arrivedWith,
  bounce,
  type Complaint,
  complaint,
  markOf,
  messageIdOf,
  pathOf,
  reported,
  useReporting,
} from '#test/conformance/reporting.ts'
import { onEachEngine } from '#test/world.ts'

const NOBODY: Authentication = {
  spf: { result: 'none', domain: null },
  dkim: [],
  dmarc: { result: 'none', policy: null, domain: null },
  arc: { result: 'none' },
  verifiedFrom: false,
}
const spf = (domain: string, result: 'pass' | 'softfail' = 'pass'): Authentication => ({
  ...NOBODY,
  spf: { result, domain },
})
const dkim = (domain: string, result: 'pass' | 'fail' = 'pass'): Authentication => ({
  ...NOBODY,
  dkim: [
    { result: 'pass', domain: 'else.example', selector: 's' },
    { result, domain, selector: 's' },
  ],
})
const from = (domain: string, verifiedFrom = true): Authentication => ({
  ...NOBODY,
  dmarc: { result: 'pass', policy: null, domain },
  verifiedFrom,
})

onEachEngine('complaints', (engine) => {
  const { inboxId, counts, depsWith, report, reportAtAbuse, sent, ...look } = useReporting(engine)
  const { statesOf, suppressionsOf } = look

  /** A complaint by a recipient of the message. */
  const marked = (message: SendInput, fields: Partial<Complaint> = {}): Complaint =>
    complaint({
      originalMessageId: messageIdOf(message),
      returnedLoopMarks: ['bob@far.example', markOf(inboxId())],
      ...fields,
    })

  test('that contain praise, or report forgery, are none', async () => {
    const message = await sent('accepted', 'bob@far.example')
    for (const feedbackType of ['not-spam', 'auth-failure']) {
      await report(message, complaint({ feedbackType }))
      for (const known of [
        complaint({ feedbackType, originalMailFrom: pathOf(message) }),
        marked(message, { feedbackType }),
      ]) {
        assert.deepEqual(await reportAtAbuse(known), { kind: 'done' })
      }
    }
    assert.deepEqual(await statesOf(message), ['accepted'])
    assert.deepEqual(new Set(counts()), new Set(['ignored']))
  })

  test('without proof are left to people, however much of the message they know', async () => {
    const message = await sent('accepted', 'bob@far.example')
    const originalMessageId = messageIdOf(message)
    const path = pathOf(message)
    const forged = path.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))
    const recipients = ['bob@far.example']
    const unproven: [Report, string | null][] = [
      [complaint(), 'unknown_message'],
      [complaint({ originalMessageId }), 'unproven'],
      [complaint({ originalMessageId, recipients }), 'unproven'],
      [complaint({ originalMessageId, recipients, returnedLoopMarks: ['x'] }), 'unproven'],
      [
        complaint({ originalMessageId, recipients, returnedLoopMarks: [markOf(makeId('inb'))] }),
        'unproven',
      ],
      [marked(message, { recipients: ['eve@far.example'] }), 'unknown_recipient'],
      [marked(message, { isStandard: false }), 'unknown_recipient'],
      [marked(message, { recipients, originalMailFrom: forged }), 'forged'],
      [marked(message, { recipients, reportedReturnPath: forged }), 'forged'],
      [complaint({ originalMailFrom: 'me@mailroom.localhost', recipients }), 'unknown_message'],
      [complaint({ originalMessageId: '<msg_@x>', recipients }), 'unknown_message'],
      [bounce(reported('bob@far.example')), null],
      [{ kind: 'none' }, null],
    ]
    for (const [what, why] of unproven) {
      const before = counts().length
      assert.equal(await reportAtAbuse(what, spf('far.example')), null, JSON.stringify(what))
      assert.deepEqual(counts().slice(before), why === null ? [] : [why])
    }
    assert.deepEqual(await statesOf(message), ['accepted'])
    assert.deepEqual(await suppressionsOf(), [])
  })

  test('count for thirty days, by return path and by mark', async () => {
    const message = await sent('accepted', 'bob@far.example')
    for (const what of [marked(message), complaint({ originalMailFrom: pathOf(message) })]) {
      assert.equal(await processAtAbuse(depsWith(31 * DAY_MS), arrivedWith(what)), null)
    }
    assert.deepEqual(counts(), ['expired', 'expired'])
    await processAtAbuse(depsWith(29 * DAY_MS), arrivedWith(marked(message)))
    assert.deepEqual(await statesOf(message), ['complained'])
  })

  test("from a recipient of a message to several count for the sender's own domain alone", async () => {
    const table: [Authentication | null, string[]][] = [
      [null, []],
      [NOBODY, []],
      [spf('far.example', 'softfail'), []],
      [dkim('far.example', 'fail'), []],
      [from('far.example', false), []],
      [spf('sub.far.example'), []],
      [spf('r.example'), []],
      [spf('uk'), []],
      [spf('co.uk'), []],
      [spf('far.example'), ['far.example']],
      [dkim('far.example'), ['far.example']],
      [from('far.example'), ['far.example']],
      [dkim('corp.co.uk'), ['mail.corp.co.uk']],
    ]
    const domains = ['far.example', 'mail.corp.co.uk', 'mailroom.localhost']
    for (const [index, [authentication, believed]] of table.entries()) {
      const all = domains.map((domain) => `a${index}@${domain}`)
      const message = await sent('accepted', ...all)
      const taken = await reportAtAbuse(marked(message, { recipients: all }), authentication)
      assert.deepEqual(taken, believed.length === 0 ? null : { kind: 'done' })
      assert.deepEqual(
        await statesOf(message),
        domains.map((domain) => (believed.includes(domain) ? 'complained' : 'accepted')),
        JSON.stringify(authentication),
      )
    }
  })

  test('from an inbox count for no other inbox of the inbox domain', async () => {
    const message = await sent('accepted', 'me@mailroom.localhost', 'you@mailroom.localhost')
    const what = marked(message, { recipients: ['you@mailroom.localhost'] })
    assert.equal(await reportAtAbuse(what, dkim('mailroom.localhost')), null)
    assert.deepEqual(await statesOf(message), ['accepted', 'accepted'])
  })

  test('in words alone at a return path count for the named recipient if they hold the message', async () => {
    const said = { isStandard: false } as const
    const named = { ...said, recipients: ['bob@far.example'] }
    const message = await sent('accepted', 'bob@far.example')
    const about: [Partial<Complaint>, string, string][] = [
      [named, 'mail', 'accepted'],
      [{ ...named, originalMessageId: '<other@far.example>' }, 'mail', 'accepted'],
      [{ ...named, returnedLoopMarks: [markOf(makeId('inb'))] }, 'mail', 'accepted'],
      [{ ...said, originalMessageId: messageIdOf(message) }, 'done', 'accepted'],
      [{ ...named, originalMessageId: messageIdOf(message) }, 'done', 'complained'],
    ]
    for (const [fields, kind, state] of about) {
      assert.equal((await report(message, complaint(fields))).kind, kind, JSON.stringify(fields))
      assert.deepEqual(await statesOf(message), [state])
    }
    for (const how of ['mark', 'path'] as const) {
      const recipient = `${how}@far.example`
      const another = await sent('accepted', recipient)
      const returned =
        how === 'mark'
          ? { returnedLoopMarks: [markOf(inboxId())] }
          : { reportedReturnPath: pathOf(another) }
      await report(another, complaint({ ...said, recipients: [recipient], ...returned }))
      assert.deepEqual(await statesOf(another), ['complained'], how)
    }
  })
})
