import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authentication } from '@mailroom/mail/authentication.ts'
import { readHeaderSection } from '@mailroom/mail/header-fields.ts'
import { readHeaders } from '@mailroom/mail/message-headers.ts'
import { authenticateArriving } from '#inbound/receive-mail.ts'
import type { ReachedInbox } from '#inboxes/inbox.ts'

const REFUSED: Authentication = {
  spf: { result: 'fail', domain: 'bank.example' },
  dkim: [],
  dmarc: { result: 'fail', policy: 'reject', domain: 'bank.example' },
  arc: { result: 'none' },
  verifiedFrom: false,
}

const inboxAt = (address: string) => ({ address }) as ReachedInbox

test('an inbox of the name postmaster hears what the policy of From has refused to others', async () => {
  const raw = Buffer.from('From: a@bank.example\r\n\r\nHi')
  const authenticator = { authenticate: async () => REFUSED, close: async () => {} }
  const refusalFor = async (...addresses: string[]) => {
    const { refusal } = await authenticateArriving(
      { authenticator, rejectDmarcFailures: true },
      {
        raw,
        reversePath: '',
        recipients: addresses.map((address) => ({
          kind: 'inbox',
          address,
          inbox: inboxAt(address),
        })),
        origin: 'smtp',
        clientAddress: '192.0.2.1',
        helo: 'x.example',
      },
      Promise.resolve(readHeaders(readHeaderSection(raw).fields)),
    )
    return refusal
  }
  assert.equal(await refusalFor('postmaster@own.example'), null)
  assert.notEqual(await refusalFor('ann@own.example'), null)
  assert.notEqual(await refusalFor('postmaster@own.example', 'ann@own.example'), null)
})
