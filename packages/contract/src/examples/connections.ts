// Examples of requests: connections.

import type { Connection, ConnectionClient } from '#connections.ts'
import type { SomeExamples } from './example.ts'

const connection: Connection = {
  id: 'con_01m8ngkx2ye00vd2a3c5e7g9jk',
  clientName: 'Acme assistant',
  clientId: 'ocl_01m8ngkx2de00tv6x8z0b2d4fh',
  keyId: 'key_01m8ngkwr1e009sfyd2g5a3s2d',
  inboxIds: ['inb_01m8ngkwy6e00ayd3sa2q324zd'],
  scopes: ['mail:read', 'mail:draft'],
  createdAt: '2026-11-30T06:00:02.254Z',
  lastUsedAt: null,
  expiresAt: '2026-12-30T06:00:02.254Z',
}

const client: ConnectionClient = {
  id: 'ocl_01m8ngkx2de00tv6x8z0b2d4fh',
  name: 'Acme assistant',
  redirectUris: ['https://assistant.example/callback'],
  createdAt: '2026-11-30T06:00:02.237Z',
}

export const connectionExamples = {
  'connections.createClient': {
    body: { name: 'Acme assistant', redirectUris: ['https://assistant.example/callback'] },
    response: client,
  },
  'connections.listClients': { response: { data: [client], total: 1 } },
  'connections.list': { response: { data: [connection], total: 1 } },
  'connections.listSteps': {
    query: { limit: 1 },
    response: {
      data: [
        {
          id: 'stp_01m8ngkx3fe00rk8m0p2r4t6vx',
          step: 'token',
          isOk: true,
          error: null,
          detail: null,
          clientId: 'ocl_01m8ngkx2de00tv6x8z0b2d4fh',
          clientName: 'Acme assistant',
          connectionId: 'con_01m8ngkx2ye00vd2a3c5e7g9jk',
          userAgent: 'node',
          occurredAt: '2026-11-30T06:00:02.271Z',
        },
      ],
      total: 2,
    },
  },
  'connections.delete': { path: { id: 'con_01m8ngkx2ye00vd2a3c5e7g9jk' } },
  'connections.deleteClient': { path: { id: 'ocl_01m8ngkx2de00tv6x8z0b2d4fh' } },
} satisfies SomeExamples
