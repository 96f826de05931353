// Examples of requests: policy.

import type { SomeExamples } from './example.ts'

/** The value is 4242 4242 4242 4242. */
const TEST_CARD = {
  kind: 'card_number',
  sha256: '9219e0affa4b86cdfaed7927c91ce7600aadc4f38079c5a4aa0667e496700bf0',
  note: 'The test card of our payment guide',
}

export const policyExamples = {
  'policy.get': {
    query: { inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    response: {
      scope: { podId: 'pod_01m8ngkwr1e019pv166p89q1hd', inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
      etag: '"lcubT4TO_xMsx6h12MGSv0"',
      inbound: { mode: 'inherit', rules: [] },
      outbound: {
        mode: 'inherit',
        rules: [],
        guards: {
          newRecipients: 'inherit',
          provenance: 'inherit',
          outsideThread: 'inherit',
          secrets: 'inherit',
          attachments: 'inherit',
          maxPerHour: null,
        },
        allowedFindings: [],
      },
      effective: {
        inbound: { mode: 'none', modeFrom: 'account', rules: [] },
        outbound: {
          mode: 'none',
          modeFrom: 'account',
          rules: [],
          guards: {
            newRecipients: 'allow',
            provenance: 'allow',
            outsideThread: 'allow',
            secrets: 'allow',
            attachments: 'allow',
            maxPerHour: null,
          },
          guardsFrom: {
            newRecipients: 'account',
            provenance: 'account',
            outsideThread: 'account',
            secrets: 'account',
            attachments: 'account',
            maxPerHour: 'account',
          },
          allowedFindings: [],
        },
      },
    },
  },
  'policy.replace': {
    as: 'approver',
    query: { inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    body: {
      outbound: {
        guards: { newRecipients: 'hold', secrets: 'reject' },
        allowedFindings: [TEST_CARD],
      },
    },
    response: {
      scope: { podId: 'pod_01m8ngkwr1e019pv166p89q1hd', inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
      etag: '"5mYJxJdBTkGPkm6CdE54ym"',
      inbound: { mode: 'inherit', rules: [] },
      outbound: {
        mode: 'inherit',
        rules: [],
        guards: {
          newRecipients: 'hold',
          provenance: 'inherit',
          outsideThread: 'inherit',
          secrets: 'reject',
          attachments: 'inherit',
          maxPerHour: null,
        },
        allowedFindings: [TEST_CARD],
      },
      effective: {
        inbound: { mode: 'none', modeFrom: 'account', rules: [] },
        outbound: {
          mode: 'none',
          modeFrom: 'account',
          rules: [],
          guards: {
            newRecipients: 'hold',
            provenance: 'allow',
            outsideThread: 'allow',
            secrets: 'reject',
            attachments: 'allow',
            maxPerHour: null,
          },
          guardsFrom: {
            newRecipients: 'inbox',
            provenance: 'account',
            outsideThread: 'account',
            secrets: 'inbox',
            attachments: 'account',
            maxPerHour: 'account',
          },
          allowedFindings: [{ ...TEST_CARD, from: 'inbox' }],
        },
      },
    },
  },
  'policy.setMode': {
    as: 'approver',
    query: { inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    body: { mode: 'none', direction: 'outbound' },
    response: {
      scope: { podId: 'pod_01m8ngkwr1e019pv166p89q1hd', inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
      etag: '"WKvaAyD0tM1TbUbr_Ui5a2"',
      inbound: { mode: 'inherit', rules: [] },
      outbound: {
        mode: 'none',
        rules: [],
        guards: {
          newRecipients: 'hold',
          provenance: 'inherit',
          outsideThread: 'inherit',
          secrets: 'reject',
          attachments: 'inherit',
          maxPerHour: null,
        },
        allowedFindings: [TEST_CARD],
      },
      effective: {
        inbound: { mode: 'none', modeFrom: 'account', rules: [] },
        outbound: {
          mode: 'none',
          modeFrom: 'inbox',
          rules: [],
          guards: {
            newRecipients: 'hold',
            provenance: 'allow',
            outsideThread: 'allow',
            secrets: 'reject',
            attachments: 'allow',
            maxPerHour: null,
          },
          guardsFrom: {
            newRecipients: 'inbox',
            provenance: 'account',
            outsideThread: 'account',
            secrets: 'inbox',
            attachments: 'account',
            maxPerHour: 'account',
          },
          allowedFindings: [{ ...TEST_CARD, from: 'inbox' }],
        },
      },
    },
  },
  'policy.createRule': {
    as: 'approver',
    query: { inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    body: {
      direction: 'outbound',
      type: 'allow',
      value: 'friend.example',
      note: 'Partner since June',
    },
    response: {
      id: 'rul_01m8ngm8h8e0082y1aq891sz1v',
      type: 'allow',
      value: 'friend.example',
      expiresAt: null,
      note: 'Partner since June',
      direction: 'outbound',
      podId: 'pod_01m8ngkwr1e019pv166p89q1hd',
      inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
    },
  },
  'policy.deleteRule': { as: 'approver', path: { id: 'rul_01m8ngm8h8e0082y1aq891sz1v' } },
  'policy.audit': {
    query: { decision: 'hold', limit: 1 },
    response: {
      data: [
        {
          id: 'aud_01m8ngm9q2e01t1g1w4ef57q0z',
          direction: 'outbound',
          decision: 'hold',
          podId: 'pod_01m8ngkwr1e019pv166p89q1hd',
          inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
          messageId: 'msg_01m8ngm8jme00bj1mtpw5q2xqp',
          sender: null,
          recipients: ['carol@partner.example'],
          reasons: [
            {
              guard: 'newRecipients',
              detail:
                'carol@partner.example has never written to the inbox, and the inbox has never written to it.',
              recipient: 'carol@partner.example',
            },
          ],
          change: null,
          reviewId: null,
          note: null,
          approver: null,
          erasureId: null,
          createdAt: '2026-11-30T06:00:15.328Z',
          actor: null,
        },
      ],
      total: 1,
    },
  },
} satisfies SomeExamples
