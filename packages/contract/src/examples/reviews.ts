// Examples of requests: reviews.

import type { Approver } from '#approvers.ts'
import type { Review, ReviewComment, WholeReview } from '#reviews.ts'
import type { SomeExamples } from './example.ts'

const approver: Approver = {
  id: 'apr_01m8ngm8cpe009d3rqqk776f1d',
  name: 'Bob',
  email: 'bob@office.example',
  webhookUrl: null,
  webhookDisabledAt: null,
  createdAt: '2026-11-30T06:00:13.974Z',
}

const review: Review = {
  id: 'hld_01m8ngm9q2e008z0981n437040',
  inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
  threadId: 'thr_01m8ngm9q0e0094dxy668ymv2y',
  messageId: 'msg_01m8ngm8jme00bj1mtpw5q2xqp',
  status: 'pending',
  reasons: [
    {
      guard: 'newRecipients',
      detail:
        'carol@partner.example has never written to the inbox, and the inbox has never written to it.',
      recipient: 'carol@partner.example',
    },
  ],
  digest: 'v2:3915992930811ad70d91bf48e973d1978ec4e7ab5f289019a67c8b1b81c35a88',
  createdAt: '2026-11-30T06:00:15.328Z',
  expiresAt: '2026-12-07T06:00:15.328Z',
  decidedAt: null,
  decidedBy: null,
  decidedReason: null,
  subject: 'Offer',
  from: 'Acme Billing <agent@mail.example.com>',
  to: ['carol@partner.example'],
  cc: [],
  bcc: [],
  equalCount: 1,
  equal: [],
  isMessageDeleted: false,
}

/** The digest of the review after its body was edited. */
const EDITED = 'v2:23fe0beb1e7a4ab35bcaeb6cd62838c158017f51a0fd96bf93d083b47567e0d4'
const EDITED_BODY = 'Here is our offer, without the discount.'

const comment: ReviewComment = {
  id: 'cmt_01m8ngpm3ze00bh5x0v1tq6j2c',
  author: { kind: 'approver', id: 'apr_01m8ngm8cpe009d3rqqk776f1d', name: 'Bob' },
  text: 'Without the discount, please.',
  createdAt: '2026-11-30T06:01:31.903Z',
}

const whole: WholeReview = {
  ...review,
  content: {
    inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
    from: 'Acme Billing <agent@mail.example.com>',
    to: ['carol@partner.example'],
    cc: [],
    bcc: [],
    threadId: 'thr_01m8ngm9q0e0094dxy668ymv2y',
    replyTo: null,
    inReplyTo: null,
    headers: {},
    attachments: [],
    sendAt: null,
    unsubscribe: false,
    isAutomatic: false,
    subject: 'Offer',
    bodyText: 'Here is our offer.',
    bodyHtml: '',
  },
  display: {
    isWhole: true,
    isHtmlWhole: true,
    blockedImages: 0,
    blockedStyles: 0,
    hidden: null,
    invisible: 0,
    unshown: 0,
  },
  thread: {
    threadId: 'thr_01m8ngm9q0e0094dxy668ymv2y',
    inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
    subject: 'Offer',
    isRead: true,
    data: [
      {
        id: 'msg_01m8ngm8jme00bj1mtpw5q2xqp',
        threadId: 'thr_01m8ngm9q0e0094dxy668ymv2y',
        inboxId: 'inb_01m8ngkwy6e00ayd3sa2q324zd',
        direction: 'outbound',
        status: 'pending',
        rfcMessageId: '<01m8ngm8jme00bj1mtpw5q2xqp@mail.example.com>',
        fromAddr: 'Acme Billing <agent@mail.example.com>',
        toAddr: 'carol@partner.example',
        to: ['carol@partner.example'],
        recipient: null,
        headerTo: null,
        deliveryRole: null,
        cc: [],
        bcc: [],
        replyTo: null,
        inReplyTo: null,
        references: [],
        subject: 'Offer',
        bodyText: 'Here is our offer.',
        bodyHtml: '',
        extractedText: 'Here is our offer.',
        attachments: [],
        automaticReason: null,
        category: null,
        categoryReasons: [],
        autoReplyable: false,
        verdict: null,
        spamScore: null,
        failureReason: null,
        defects: [],
        labels: [],
        tag: null,
        isTruncated: false,
        extracted: null,
        hiddenText: false,
        hiddenTextParts: [],
        authentication: null,
        automatic: false,
        scheduledAt: null,
        createdAt: '2026-11-30T06:00:15.328Z',
      },
    ],
  },
  versions: [],
  comments: [comment],
}

export const reviewExamples = {
  'approvers.create': {
    body: {
      name: 'Bob',
      email: 'bob@office.example',
      webhookUrl: 'https://office.example/reviews',
    },
    response: {
      ...approver,
      webhookUrl: 'https://office.example/reviews',
      token: 'mra_…',
      webhookSecret: 'whsec_…',
    },
  },
  'approvers.list': { response: { data: [approver], total: 1 } },
  'approvers.delete': { as: 'approver', path: { id: 'apr_01m8nqkqv1e00abst8p2p8sy11' } },
  'reviews.list': { query: { status: 'pending' }, response: { data: [review], total: 1 } },
  'reviews.get': {
    path: { id: 'hld_01m8ngm9q2e008z0981n437040' },
    response: whole,
  },
  'reviews.approve': {
    path: { id: 'hld_01m8ngm9q2e008z0981n437040' },
    body: { digest: EDITED },
    response: {
      ...review,
      digest: EDITED,
      status: 'approved',
      decidedAt: '2026-11-30T06:02:15.512Z',
      decidedBy: 'apr_01m8ngm8cpe009d3rqqk776f1d',
    },
  },
  'reviews.approveMany': {
    body: {
      items: [
        {
          id: 'hld_01m8ngqzd9e00b401403j4zfak',
          digest: 'v2:2b5be0afbb5e94186d05c77419429965aa89d775e71d7ea53b7eb8dcc4cd6f29',
        },
      ],
    },
    response: {
      data: [
        {
          id: 'hld_01m8ngqzd9e00b401403j4zfak',
          status: 200,
          review: {
            ...review,
            id: 'hld_01m8ngqzd9e00b401403j4zfak',
            threadId: 'thr_01m8ngqzd8e008c91ngq22jbyw',
            messageId: 'msg_01m8ngqzd5e00batv922nmgdqq',
            status: 'approved',
            digest: 'v2:2b5be0afbb5e94186d05c77419429965aa89d775e71d7ea53b7eb8dcc4cd6f29',
            createdAt: '2026-11-30T06:02:15.848Z',
            expiresAt: '2026-12-07T06:02:15.848Z',
            decidedAt: '2026-11-30T06:02:15.902Z',
            decidedBy: 'apr_01m8ngm8cpe009d3rqqk776f1d',
            subject: 'Third offer',
          },
          error: null,
        },
      ],
    },
  },
  'reviews.reject': {
    path: { id: 'hld_01m8ngqz6ge00bg30m5s39ak73' },
    body: { reason: 'Wrong price.' },
    response: {
      ...review,
      id: 'hld_01m8ngqz6ge00bg30m5s39ak73',
      threadId: 'thr_01m8ngqz6ee0086exgy77s2jva',
      messageId: 'msg_01m8ngqz4te00b0035jfnkdwys',
      status: 'rejected',
      digest: 'v2:4257dfc57b881fefba00d0217f1571f576c057564ee1bae0a6ff09749a4aa838',
      createdAt: '2026-11-30T06:02:15.630Z',
      expiresAt: '2026-12-07T06:02:15.630Z',
      decidedAt: '2026-11-30T06:02:15.732Z',
      decidedBy: 'apr_01m8ngm8cpe009d3rqqk776f1d',
      decidedReason: 'Wrong price.',
      subject: 'Second offer',
    },
  },
  'reviews.edit': {
    path: { id: 'hld_01m8ngm9q2e008z0981n437040' },
    body: { digest: review.digest, body: EDITED_BODY },
    response: {
      ...whole,
      digest: EDITED,
      content: { ...whole.content, bodyText: EDITED_BODY },
      thread: {
        ...whole.thread,
        data: whole.thread.data.map((message) => ({
          ...message,
          bodyText: EDITED_BODY,
          extractedText: EDITED_BODY,
        })),
      },
      versions: [
        {
          content: whole.content,
          digest: review.digest,
          changed: ['body'],
          editedBy: approver.id,
          editedAt: '2026-11-30T06:01:50.112Z',
        },
      ],
    },
  },
  'reviews.comment': {
    path: { id: 'hld_01m8ngm9q2e008z0981n437040' },
    as: 'approver',
    body: { text: comment.text },
    response: comment,
  },
  'reviews.showLinked': {
    path: { token: 'Aaq7Bzz3mbKfteGK8_2jFRTj' },
    response: '<!doctype html>\n…<title>May this message be sent?</title>…',
  },
  'reviews.bodyLinked': {
    path: { token: 'Aaq7Bzz3mbKfteGK8_2jFRTj' },
    response: '<!doctype html>…<body><pre>Here is our offer.</pre></body></html>\n',
  },
  'reviews.approveLinked': {
    path: { token: 'AelZEJ8iesvoinTpganYngL6' },
    response: '<!doctype html>\n…<title>Done</title>…',
  },
  'reviews.rejectLinked': {
    path: { token: 'Abf_64OmH52ybOezBVgFbvVs' },
    response: '<!doctype html>\n…<title>Done</title>…',
  },
} satisfies SomeExamples
