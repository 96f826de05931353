// Examples of requests: accounts.

import type { Account } from '#accounts.ts'
import type { ApiKey } from '#api-keys.ts'
import type { SomeExamples } from './example.ts'

const account: Account = {
  id: 'acc_01m8ngkwr1e00vhj19ry1r7f4j',
  name: 'Acme',
  plan: 'launch',
  createdAt: '2026-11-30T06:00:02.049Z',
}

const firstKey: ApiKey = {
  id: 'key_01m8ngkwr1e009sfyd2g5a3s2d',
  name: 'first key',
  tokenPrefix: 'mr_…',
  last4: '…',
  createdAt: '2026-11-30T06:00:02.049Z',
  lastUsedAt: '2026-11-30T06:00:02.102Z',
}

const key: ApiKey = {
  id: 'key_01m8ngkwtpe0091x9z33wdj5zj',
  name: 'worker',
  tokenPrefix: 'mr_…',
  last4: '…',
  createdAt: '2026-11-30T06:00:02.134Z',
  lastUsedAt: null,
}

export const accountExamples = {
  'account.get': {
    response: {
      ...account,
      name: 'Acme Ltd',
      filterMode: 'none',
      retentionDays: null,
      undoSeconds: 0,
      inboxLimit: 200,
    },
  },
  'account.me': {
    response: {
      accountId: 'acc_01m8ngkwr1e00vhj19ry1r7f4j',
      name: 'Acme Ltd',
      plan: 'launch',
      apiKeyScope: 'account',
      keyId: 'key_01m8ngkwr1e009sfyd2g5a3s2d',
      customerId: 'acc_01m8ngkwr1e00vhj19ry1r7f4j',
      mcpScopes: null,
    },
  },
  'account.sendFeedback': {
    body: { type: 'idea', message: 'The sandbox needs an example.' },
    response: { status: 'received' },
  },
  'account.update': {
    body: { retentionDays: 365 },
    response: {
      ...account,
      name: 'Acme Ltd',
      filterMode: 'none',
      retentionDays: 365,
      undoSeconds: 0,
      inboxLimit: 200,
    },
  },
  'apiKeys.create': { body: { name: 'worker' }, response: { ...key, token: 'mr_…' } },
  'apiKeys.list': {
    response: {
      data: [key, firstKey],
      total: 2,
    },
  },
  'apiKeys.delete': { path: { id: 'key_01m8ngkwtpe0091x9z33wdj5zj' } },
  'stats.get': {
    query: { range: '24h' },
    response: {
      range: '24h',
      bucketSeconds: 3600,
      buckets: [
        {
          at: '2026-11-30T06:00:00.000Z',
          received: 3,
          sent: 4,
          failed: 1,
          latencyMsP50: 99,
          latencyMsP95: 395,
        },
      ],
      totals: { received: 3, sent: 4, failed: 1 },
      inboxes: 1,
      unreadThreads: 0,
      storedBytes: 8339,
      storedBytesLimit: 10737418240,
      asOf: '2026-11-30T06:00:12.357Z',
    },
  },
  'usage.get': {
    query: { group_by: 'inbox' },
    response: {
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-12-01T00:00:00.000Z',
      groupBy: 'inbox',
      data: [
        {
          inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
          address: 'agent@mail.example.com',
          received: 3,
          sent: 4,
          failed: 1,
          storedBytes: 8339,
        },
      ],
      total: 1,
      totals: { received: 3, sent: 4, failed: 1 },
      asOf: '2026-11-30T06:00:12.366Z',
    },
  },
  'admin.accounts.create': {
    body: { name: 'Acme', plan: 'launch' },
    response: {
      account: account,
      apiKey: {
        ...firstKey,
        createdAt: '2026-11-30T06:00:02.049Z',
        lastUsedAt: null,
        token: 'mr_…',
      },
    },
  },
  'admin.accounts.list': { query: { limit: 1 }, response: { data: [account], total: 2 } },
  'admin.accounts.update': {
    path: { id: 'acc_01m8ngkwr1e00vhj19ry1r7f4j' },
    body: { name: 'Acme Ltd' },
    response: { ...account, name: 'Acme Ltd' },
  },
} satisfies SomeExamples
