// Examples of requests: senders.

import type { QuarantinedMessage } from '#quarantine.ts'
import type { SenderRule } from '#sender-rules.ts'
import type { Suppression } from '#suppressions.ts'
import type { SomeExamples } from './example.ts'

const suppression: Suppression = {
  id: 'sup_01m8ngm8a9e009cks1g0wt6gbb',
  address: 'dora@partner.example',
  type: 'manual',
  reason: null,
  createdAt: '2026-11-30T06:00:13.897Z',
}

const rule: SenderRule = {
  id: 'rul_01m8ngm6tse0090w4ws1m74qw0',
  type: 'block',
  value: 'spam.example',
  podId: null,
  inboxId: null,
  expiresAt: null,
  note: null,
  createdAt: '2026-11-30T06:00:12.377Z',
  requireVerified: false,
}

const quarantined: QuarantinedMessage = {
  id: 'qua_01m8ngm6zge01vn865jgc6ce8n',
  inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  podId: 'pod_01m8ngkwr1e019pv166p89q1hd',
  fromAddr: 'Offers <offers@spam.example>',
  toAddr: 'agent@mail.example.com',
  deliveryRole: 'to',
  subject: 'Cheap hosting',
  reason: 'blocked',
  ruleId: 'rul_01m8ngm6tse0090w4ws1m74qw0',
  authentication: {
    spf: { result: 'pass', domain: 'spam.example' },
    dkim: [],
    dmarc: { result: 'none', policy: null, domain: 'spam.example' },
    arc: { result: 'none' },
    verifiedFrom: true,
  },
  createdAt: '2026-11-30T06:00:12.528Z',
  expiresAt: '2026-12-30T06:00:12.528Z',
}

export const senderExamples = {
  'suppressions.list': { response: { data: [suppression], total: 1 } },
  'suppressions.create': { body: { address: 'dora@partner.example' }, response: suppression },
  'suppressions.delete': { path: { address: 'dora@partner.example' } },
  'unsubscribe.show': {
    path: { token: 'AWlsq7L8NiOA2MO_8ZYQoIyF' },
    response: '<!doctype html>\n…<title>Unsubscribe?</title>…',
  },
  'unsubscribe.confirm': {
    path: { token: 'AWlsq7L8NiOA2MO_8ZYQoIyF' },
    response: '<!doctype html>\n…<title>You are unsubscribed</title>…',
  },
  'senderRules.list': { response: { data: [rule], total: 1 } },
  'senderRules.create': { body: { type: 'block', value: 'spam.example' }, response: rule },
  'senderRules.get': { path: { id: 'rul_01m8ngm6tse0090w4ws1m74qw0' }, response: rule },
  'senderRules.delete': { path: { id: 'rul_01m8ngm6tse0090w4ws1m74qw0' } },
  'quarantine.list': { response: { data: [quarantined], total: 1 } },
  'quarantine.get': {
    path: { id: 'qua_01m8ngm6zge01vn865jgc6ce8n' },
    response: { ...quarantined, bodyText: 'Buy now.', isTruncated: false, attachments: [] },
  },
  'quarantine.raw': {
    path: { id: 'qua_01m8ngm6zge01vn865jgc6ce8n' },
    response: [
      'From: Offers <offers@spam.example>',
      'To: agent@mail.example.com',
      'MIME-Version: 1.0',
      'Subject: Cheap hosting',
      'Message-ID: <s1@spam.example>',
      'Date: Tue, 01 Dec 2026 10:00:00 +0000',
      '',
      'Buy now.',
      '',
    ].join('\n'),
  },
  'quarantine.release': {
    path: { id: 'qua_01m8ngm6zge01vn865jgc6ce8n' },
    response: {
      id: 'msg_01m8ngm7cxe00ahsh41n9zqf5z',
      threadId: 'thr_01m8ngm7cxe00tm34fwy20891k',
      inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
      direction: 'inbound',
      status: 'received',
      rfcMessageId: '<s1@spam.example>',
      fromAddr: 'Offers <offers@spam.example>',
      toAddr: 'agent@mail.example.com',
      to: ['agent@mail.example.com'],
      recipient: 'agent@mail.example.com',
      headerTo: 'agent@mail.example.com',
      deliveryRole: 'to',
      cc: [],
      bcc: [],
      replyTo: null,
      inReplyTo: null,
      references: [],
      subject: 'Cheap hosting',
      bodyText: 'Buy now.',
      bodyHtml: '',
      extractedText: 'Buy now.',
      attachments: [],
      automaticReason: null,
      category: 'personal',
      categoryReasons: [{ rule: 'newsletter-mailbox', detail: 'offers@spam.example' }],
      autoReplyable: false,
      verdict: 'clean',
      spamScore: null,
      failureReason: null,
      defects: [],
      labels: [],
      tag: null,
      isTruncated: false,
      extracted: { codes: [], links: [], invites: [] },
      hiddenText: false,
      hiddenTextParts: [],
      authentication: {
        spf: { result: 'pass', domain: 'spam.example' },
        dkim: [],
        dmarc: { result: 'none', policy: null, domain: 'spam.example' },
        arc: { result: 'none' },
        verifiedFrom: true,
      },
      automatic: false,
      scheduledAt: null,
      createdAt: '2026-11-30T06:00:12.958Z',
    },
  },
  'quarantine.delete': { path: { id: 'qua_01m8ngm7dze01vfvfjd53znd4m' } },
} satisfies SomeExamples
