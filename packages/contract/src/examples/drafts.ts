// Examples of requests: drafts.

import type { Draft } from '#drafts.ts'
import type { SomeExamples } from './example.ts'

const draft: Draft = {
  id: 'drf_01m8ngm360e0096apyjmt98fjx',
  inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  clientId: null,
  createdAt: '2026-11-30T06:00:08.640Z',
  updatedAt: '2026-11-30T06:00:08.640Z',
  etag: '"1"',
  to: ['bob@office.example'],
  cc: [],
  bcc: [],
  replyTo: null,
  subject: 'Invoice 1042',
  body: 'The corrected invoice is attached.',
  format: 'auto',
  bodyHtml: null,
  threadId: null,
  includeQuote: true,
  includeSignature: true,
  replyAll: false,
  headers: {},
  unsubscribe: false,
  isAutomatic: false,
  invite: null,
  sendAt: null,
  attachments: [],
}

export const draftExamples = {
  'drafts.create': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    body: {
      to: ['bob@office.example'],
      subject: 'Invoice 1042',
      body: 'The corrected invoice is attached.',
    },
    response: draft,
  },
  'drafts.list': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    response: { total: 1, data: [draft] },
  },
  'drafts.get': {
    path: { id: 'drf_01m8ngm360e0096apyjmt98fjx' },
    response: {
      ...draft,
      updatedAt: '2026-11-30T06:00:09.108Z',
      etag: '"3"',
      subject: 'Invoice 1042, corrected',
      attachments: [
        {
          id: 'att_01m8ngm3mne009fsytxdfx19gm',
          filename: 'invoice-1042.csv',
          contentType: 'text/csv',
          size: 26,
          contentId: null,
        },
      ],
    },
  },
  'drafts.update': {
    path: { id: 'drf_01m8ngm360e0096apyjmt98fjx' },
    headers: { 'If-Match': '"1"' },
    body: { subject: 'Invoice 1042, corrected' },
    response: {
      ...draft,
      updatedAt: '2026-11-30T06:00:08.981Z',
      etag: '"2"',
      subject: 'Invoice 1042, corrected',
    },
  },
  'drafts.delete': { path: { id: 'drf_01m8ngm3pwe009dme6933nq3s7' } },
  'drafts.addAttachment': {
    path: { id: 'drf_01m8ngm360e0096apyjmt98fjx' },
    body: {
      filename: 'invoice-1042.csv',
      contentType: 'text/csv',
      data: 'aXRlbSxwcmljZQpIb3N0aW5nLDEwMC4wMAo=',
    },
    response: {
      ...draft,
      updatedAt: '2026-11-30T06:00:09.108Z',
      etag: '"3"',
      subject: 'Invoice 1042, corrected',
      attachments: [
        {
          id: 'att_01m8ngm3mne009fsytxdfx19gm',
          filename: 'invoice-1042.csv',
          contentType: 'text/csv',
          size: 26,
          contentId: null,
        },
      ],
    },
  },
  'drafts.removeAttachment': {
    path: { id: 'drf_01m8ngm360e0096apyjmt98fjx', attachmentId: 'att_01m8ngm3mne009fsytxdfx19gm' },
    response: {
      ...draft,
      updatedAt: '2026-11-30T06:00:09.131Z',
      etag: '"4"',
      subject: 'Invoice 1042, corrected',
    },
  },
  'drafts.send': {
    path: { id: 'drf_01m8ngm360e0096apyjmt98fjx' },
    headers: { 'Idempotency-Key': 'draft-1042' },
    response: {
      messageId: 'msg_01m8ngm3p6e00aykyxwy29m2mm',
      threadId: 'thr_01m8ngm3p6e00tqtftzdanttt3',
      providerMessageId: '<01m8ngm3p6e00aykyxwy29m2mm@mail.example.com>',
      status: 'pending',
      id: 'msg_01m8ngm3p6e00aykyxwy29m2mm',
      inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
      direction: 'outbound',
      createdAt: '2026-11-30T06:00:09.158Z',
    },
  },
} satisfies SomeExamples
