// An event as a stream of the server gets it, with a text of the test.

import type { EventText } from '#streams/envelope.ts'

/** `text` stands for the JSON of the envelope. */
export function eventText(id: string, text: string): EventText {
  const nothing = { podId: null, inboxId: null, threadId: null, messageId: null, category: null }
  const none = { ...nothing, details: null, traceParent: null }
  return {
    event: {
      id,
      kind: 'message.received',
      accountId: 'acc_1',
      offset: { transactionId: 0, sequence: 1 },
      occurredAtMs: 0,
      ...none,
    },
    message: null,
    arrival: null,
    isTruncated: false,
    render: () => text,
    body() {
      throw new Error('The server writes texts.')
    },
  }
}
