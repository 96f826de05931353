// Examples of requests: sandbox.

import type { SomeExamples } from './example.ts'
import { message } from './story.ts'

export const sandboxExamples = {
  'sandbox.list': {
    response: {
      data: [
        {
          id: 'cap_01m8k1yqmqe008ryxryh8v6cp0',
          messageId: 'msg_01m8ngm225e00a7acrbcah9scp',
          threadId: 'thr_01m8ngkys8e00trj0fnw5tg9ya',
          inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
          from: 'Acme Billing <agent@mail.example.com>',
          to: ['ann@customer.example'],
          reversePath: 'b+01m8k1yqkde00rf98cav79wqkt.…@mail.example.com',
          cc: [],
          replyTo: null,
          subject: 'Re: The total of invoice 1042',
          text: [
            'Hello Ann,',
            '',
            'you are right. The corrected invoice follows today.',
            '',
            'On …, Ann Example wrote:',
            '> Hello,',
            '>',
            '> the total of invoice 1042 does not match our order. Can you check?',
            '>',
            '> Ann',
          ].join('\n'),
          html: '',
          isTruncated: false,
          rfcMessageId: '<01m8ngm225e00a7acrbcah9scp@mail.example.com>',
          inReplyTo: '<01m8k1ypthe00bqrdw3w7rjyv2@customer.example>',
          references: ['<01m8k1ypthe00bqrdw3w7rjyv2@customer.example>'],
          attachments: [],
          createdAt: '2026-11-29T07:05:19.767Z',
        },
      ],
      total: 1,
    },
  },
  'sandbox.clear': {},
  'sandbox.receive': {
    body: {
      from: 'Ann Example <ann@customer.example>',
      to: 'agent@mail.example.com',
      subject: 'The total of invoice 1042',
      text: 'Hello,\n\nthe total of invoice 1042 does not match our order. Can you check?\n\nAnn',
      attachments: [
        {
          filename: 'order.csv',
          contentType: 'text/csv',
          data: 'aXRlbSxwcmljZQ0KSG9zdGluZywxMjAuMDA=',
        },
      ],
    },
    response: {
      data: [
        {
          ...message,
          rfcMessageId: '<01m8k1ypthe00bqrdw3w7rjyv2@customer.example>',
          bodyText:
            'Hello,\n\nthe total of invoice 1042 does not match our order. Can you check?\n\nAnn',
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
          authentication: {
            spf: { result: 'none', domain: null },
            dkim: [],
            dmarc: { result: 'none', policy: null, domain: 'customer.example' },
            arc: { result: 'none' },
            verifiedFrom: false,
          },
          createdAt: '2026-11-29T07:05:19.625Z',
        },
      ],
      total: 1,
    },
  },
} satisfies SomeExamples
