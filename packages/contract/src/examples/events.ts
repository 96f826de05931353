// Examples of requests: events.

import type { SomeExamples } from './example.ts'
import { message } from './story.ts'

export const eventExamples = {
  'events.list': {
    query: { event_types: 'message.received', limit: 1 },
    response: {
      data: [
        {
          event: 'message.received',
          event_id: 'evt_01m8ngkys8e018rx6y80031pye',
          occurred_at: '2026-11-30T06:00:04.145Z',
          delivered_at: '2026-11-30T06:00:06.903Z',
          attempt: 1,
          inbox_id: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
          pod_id: 'pod_01m8ngkwr1e019pv166p89q1hd',
          thread_id: 'thr_01m8ngkys8e00trj0fnw5tg9ya',
          message: {
            id: 'msg_01m8ngkys8e00889s3j884tds1',
            rfc_message_id: '<a1@customer.example>',
            direction: 'inbound',
            from: 'Ann Example <ann@customer.example>',
            to: 'agent@mail.example.com',
            to_addrs: ['agent@mail.example.com'],
            recipient: 'agent@mail.example.com',
            tag: null,
            cc: [],
            subject: 'The total of invoice 1042',
            body_text:
              'Hello,\n\nthe total of invoice 1042 does not match our order. Can you check?\n\nAnn\n',
            body_html: '',
            extracted_text:
              'Hello,\n\nthe total of invoice 1042 does not match our order. Can you check?\n\nAnn',
            extracted: { codes: [], links: [], invites: [] },
            hidden_text: false,
            hidden_text_parts: [],
            truncated: false,
            url: 'https://mail.example.com/v1/messages/msg_01m8ngkys8e00889s3j884tds1',
            attachments: [
              {
                filename: 'order.csv',
                contentType: 'text/csv',
                sizeBytes: 26,
                contentId: null,
                isInline: false,
                parsedText: '| item | price |\n| --- | --- |\n| Hosting | 120.00 |',
                extractionMethod: 'csv',
                url: 'https://mail.example.com/v1/attachments/msg_01m8ngkys8e00889s3j884tds1/order.csv?expires=…&signature=…',
              },
            ],
            authentication: {
              spf: { result: 'pass', domain: 'customer.example' },
              dkim: [],
              dmarc: { result: 'none', policy: null, domain: 'customer.example' },
              arc: { result: 'none' },
              verifiedFrom: true,
            },
            automatic: false,
            auto_replyable: true,
            category: 'personal',
            category_reasons: [],
            verdict: 'clean',
            spam_score: null,
            failure_reason: null,
            received_at: '2026-11-30T06:00:04.145Z',
          },
        },
      ],
      total: 1,
    },
  },
  'events.stream': {
    query: { event_types: 'thread.updated', after: 'evt_01m8ngkys8e018rx6y80031pye' },
    response: [
      'retry: 3000',
      '',
      'id: evt_01m8ngm1kte0089jqmsxmtadrc',
      'event: thread.updated',
      'data: {"event":"thread.updated","event_id":"evt_01m8ngm1kte0089jqmsxmtadrc","occurred_at":"2026-11-30T06:00:07.034Z","delivered_at":"2026-11-30T06:00:07.054Z","attempt":1,"inbox_id":"inb_01m8ngkwy6e00ayd3sa2q324zd","pod_id":"pod_01m8ngkwr1e019pv166p89q1hd","thread_id":"thr_01m8ngkys8e00trj0fnw5tg9ya","thread":{"changed":["labels","assignee"],"is_read":false,"labels":["invoice"],"assignee":"Bob","snoozed_until":null}}',
      '',
      '',
    ].join('\n'),
  },
  'inboxes.wait': {
    path: { id: 'inb_01m8ngkwy6e00ayd3sa2q324zd' },
    query: { timeout: 60, subject: 'invoice' },
    response: {
      message: {
        ...message,
        attachments: [
          {
            filename: 'order.csv',
            contentType: 'text/csv',
            sizeBytes: 26,
            contentId: null,
            parsedText: null,
            extractionMethod: null,
            url: 'https://mail.example.com/v1/attachments/msg_01m8ngkys8e00889s3j884tds1/order.csv?expires=…&signature=…',
            isInline: false,
            inline: false,
          },
        ],
      },
    },
  },
} satisfies SomeExamples
