// Examples of requests: console.

import type { Session } from '#sessions.ts'
import type { SomeExamples } from './example.ts'

const session: Session = {
  account: { id: 'acc_01m8ngkwr1e00vhj19ry1r7f4j', name: 'Acme Ltd', plan: 'launch' },
  key: {
    id: 'key_01m8ngkwr1e009sfyd2g5a3s2d',
    name: 'first key',
    tokenPrefix: 'mr_…',
    last4: '…',
  },
  approver: null,
  csrfToken: '…',
  expiresAt: '2026-11-30T18:00:02.098Z',
  publicUrl: 'https://mail.example.com',
  isSandbox: false,
  inboxDomain: 'mail.example.com',
  version: '0.1.0',
}

export const consoleExamples = {
  'session.create': {
    body: { apiKey: '$MAILROOM_API_KEY' },
    response: session,
  },
  'session.get': { response: session },
  'session.delete': {},
  'pairing.start': {
    body: { clientName: 'mailroom on laptop' },
    response: {
      requestId: 'request-of-laptop',
      userCode: 'SLFQ-DHCT',
      verifyUrl: 'https://mail.example.com/console/pair?code=SLFQ-DHCT',
      expiresInSeconds: 600,
    },
  },
  'pairing.poll': {
    body: { requestId: 'request-of-laptop' },
    response: { status: 'ready', apiKey: 'mr_…' },
  },
  'pairing.pollByUrl': {
    query: { requestId: 'request-of-server' },
    response: { status: 'ready', apiKey: 'mr_…' },
  },
  'pairing.get': {
    path: { userCode: 'SLFQ-DHCT' },
    response: {
      userCode: 'SLFQ-DHCT',
      clientName: 'mailroom on laptop',
      clientAddress: '127.0.0.1',
      createdAt: '2026-11-30T06:00:02.146Z',
      expiresAt: '2026-11-30T06:10:02.146Z',
    },
  },
  'pairing.approve': { path: { userCode: 'SLFQ-DHCT' } },
  'pairing.deny': { path: { userCode: 'J9DH-3V4V' } },
} satisfies SomeExamples
