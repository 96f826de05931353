// Examples of requests: transfers.

import type { Erasure } from '#erasures.ts'
import type { Export, Import } from '#transfers.ts'
import type { SomeExamples } from './example.ts'

const done: Export = {
  id: 'exp_01m8ngm3tze008b0a62150yrvg',
  status: 'done',
  format: 'mbox',
  inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  podId: null,
  progress: { done: 4, total: 4 },
  sizeBytes: 5123,
  url: 'https://mail.example.com/v1/exports/exp_01m8ngm3tze008b0a62150yrvg/file?expires=…&signature=…',
  error: null,
  errorMessage: null,
  nextAttemptAt: null,
  createdAt: '2026-11-30T06:00:09.311Z',
  completedAt: '2026-11-30T06:00:09.479Z',
  expiresAt: '2026-12-07T06:00:09.479Z',
}

const imported: Import = {
  id: 'imp_01m8ngm4cce0085qc9hp7956f4',
  status: 'done',
  format: 'mbox',
  inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  progress: { done: 225, total: 225 },
  imported: 1,
  duplicates: 0,
  failed: 0,
  failures: [],
  skipped: { trash: 0, spam: 0, draft: 0, unfinished: 0, otherFile: 0 },
  error: null,
  errorMessage: null,
  nextAttemptAt: null,
  createdAt: '2026-11-30T06:00:09.869Z',
  completedAt: '2026-11-30T06:00:10.232Z',
}

const erasure: Erasure = {
  id: 'ers_01m8ngm7j5e00asqz15j962abx',
  status: 'queued',
  address: 'offers@spam.example',
  removed: {
    messages: 0,
    quarantined: 0,
    drafts: 0,
    events: 0,
    correspondents: 0,
    answers: 0,
    auditEntries: 0,
    reviews: 0,
    files: 0,
  },
  left: [
    { place: 'backups', note: 'Earlier backups contain the mail until they are deleted.' },
    {
      place: 'other mailboxes',
      note: 'Mail delivered elsewhere, webhook deliveries and earlier downloads are outside the service.',
    },
    {
      place: 'rules and suppressions',
      note: 'Rules for the address and its suppression remain, because they protect its owner and the account. Delete them one by one.',
    },
    {
      place: 'text of other mail',
      note: 'Mail between other people remains, even if its text or a field such as Reply-To contains the address.',
    },
    {
      place: 'logs',
      note: 'Logs of the operator, and mail to the postmaster of the service, must be deleted by the operator.',
    },
  ],
  errorMessage: null,
  nextAttemptAt: null,
  createdAt: '2026-11-30T06:00:13.129Z',
  completedAt: null,
}

export const transferExamples = {
  'exports.create': {
    body: { inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd', format: 'mbox' },
    response: {
      ...done,
      status: 'queued',
      progress: { done: 0, total: 5 },
      sizeBytes: null,
      url: null,
      completedAt: null,
      expiresAt: null,
    },
  },
  'exports.list': { response: { data: [done], total: 1 } },
  'exports.get': { path: { id: 'exp_01m8ngm3tze008b0a62150yrvg' }, response: done },
  'exports.delete': { path: { id: 'exp_01m8ngm3tze008b0a62150yrvg' } },
  'exports.download': {
    path: { id: 'exp_01m8ngm3tze008b0a62150yrvg' },
    response: [
      'From ann@customer.example …',
      'From: Ann Example <ann@customer.example>',
      'To: agent@mail.example.com',
      'MIME-Version: 1.0',
      'Subject: The total of invoice 1042',
      'Message-ID: <a1@customer.example>',
      'Date: Tue, 01 Dec 2026 09:00:00 +0000',
      'User-Agent: Mozilla Thunderbird',
      '…',
    ].join('\n'),
  },
  'imports.create': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    query: { isRead: true },
    file: {
      name: 'old-mail.mbox',
      mediaType: 'application/mbox',
      text: [
        'From ann@customer.example Mon Nov  2 09:00:00 2026',
        'From: ann@customer.example',
        'To: agent@mail.example.com',
        'Subject: Order',
        'Message-ID: <a0@customer.example>',
        'Date: Mon, 02 Nov 2026 09:00:00 +0000',
        '',
        'We would like to order hosting.',
        '',
      ].join('\n'),
    },
    response: {
      ...imported,
      status: 'queued',
      progress: { done: 0, total: 225 },
      imported: 0,
      completedAt: null,
    },
  },
  'imports.list': { response: { data: [imported], total: 1 } },
  'imports.get': { path: { id: 'imp_01m8ngm4cce0085qc9hp7956f4' }, response: imported },
  'erasures.create': { body: { address: 'offers@spam.example' }, response: erasure },
  'erasures.get': {
    path: { id: 'ers_01m8ngm7j5e00asqz15j962abx' },
    response: {
      ...erasure,
      status: 'done',
      address: null,
      removed: {
        messages: 1,
        quarantined: 0,
        drafts: 0,
        events: 3,
        correspondents: 1,
        answers: 0,
        auditEntries: 2,
        reviews: 0,
        files: 2,
      },
      completedAt: '2026-11-30T06:00:13.852Z',
    },
  },
} satisfies SomeExamples
