// Examples of requests: inboxes.

import type { Inbox } from '#inboxes.ts'
import type { Pod } from '#pods.ts'
import type { SomeExamples } from './example.ts'

const pod: Pod = {
  id: 'pod_01m8ngkwwxe00bhf65xkfypv8n',
  clientId: 'customer-7',
  name: 'Customer 7',
  retentionDays: null,
  isDefault: false,
  createdAt: '2026-11-30T06:00:02.205Z',
}

const inbox: Inbox = {
  id: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  podId: 'pod_01m8ngkwr1e019pv166p89q1hd',
  address: 'agent@mail.example.com',
  clientId: 'acme-agent',
  displayName: 'Acme Agent',
  retentionDays: null,
  expiresAt: null,
  undoSeconds: null,
  signature: null,
  metadata: { team: 'billing' },
  createdAt: '2026-11-30T06:00:02.246Z',
  webhookUrl: null,
  unreadThreads: 0,
  lastMessageAt: null,
  effectiveRetentionDays: 365,
}

export const inboxExamples = {
  'pods.list': {
    response: {
      data: [
        {
          id: 'pod_01m8ngkwr1e019pv166p89q1hd',
          clientId: null,
          name: null,
          retentionDays: null,
          isDefault: true,
          createdAt: '2026-11-30T06:00:02.049Z',
        },
        pod,
      ],
      total: 2,
    },
  },
  'pods.create': { body: { clientId: 'customer-7', name: 'Customer 7' }, response: pod },
  'pods.get': { path: { idOrClientId: 'customer-7' }, response: pod },
  'pods.update': {
    path: { idOrClientId: 'customer-7' },
    body: { name: 'Customer 7 (Berlin)', retentionDays: 90 },
    response: { ...pod, name: 'Customer 7 (Berlin)', retentionDays: 90 },
  },
  'pods.delete': { path: { idOrClientId: 'customer-7' } },
  'inboxes.create': {
    body: {
      mailboxName: 'agent',
      clientId: 'acme-agent',
      displayName: 'Acme Agent',
      metadata: { team: 'billing' },
    },
    response: inbox,
  },
  'inboxes.list': { response: { data: [inbox], total: 1 } },
  'inboxes.get': { path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' }, response: inbox },
  'inboxes.getByAddress': { path: { address: 'agent@mail.example.com' }, response: inbox },
  'inboxes.search': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    query: { q: 'order has:attachment' },
    response: {
      data: [
        {
          messageId: 'msg_01m8ngkys8e00889s3j884tds1',
          threadId: 'thr_01m8ngkys8e00trj0fnw5tg9ya',
          inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
          direction: 'inbound',
          fromAddr: 'Ann Example <ann@customer.example>',
          toAddr: 'agent@mail.example.com',
          subject: 'The total of invoice 1042',
          createdAt: '2026-11-30T06:00:04.145Z',
          snippet: 'Hello, the total of invoice 1042 does not match our order. Can you check? Ann',
          highlights: [{ start: 52, end: 57 }],
        },
      ],
      total: 1,
      totalIsExact: true,
      isComplete: true,
    },
  },
  'inboxes.update': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    body: { displayName: 'Acme Billing' },
    response: { ...inbox, displayName: 'Acme Billing' },
  },
  'inboxes.delete': { path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' } },
  'inboxes.limits': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    response: {
      sendsPerMinute: { limit: 10, used: 4, remaining: 6, resetsAt: '2026-11-30T06:01:07.493Z' },
      sendsPerDay: { limit: 200, used: 4, remaining: 196, resetsAt: '2026-12-01T06:00:07.493Z' },
      coldRecipientsPerDay: {
        limit: 20,
        used: 1,
        remaining: 19,
        resetsAt: '2026-12-01T00:00:00.000Z',
      },
      accountColdRecipientsPerDay: {
        limit: 500,
        used: 1,
        remaining: 499,
        resetsAt: '2026-12-01T00:00:00.000Z',
      },
      heldMessages: { limit: 100, used: 0, remaining: 100, resetsAt: null },
    },
  },
} satisfies SomeExamples
