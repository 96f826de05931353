// The example of every operation.

import type { DescribedOperationId } from '#operations.ts'
import { accountExamples } from './accounts.ts'
import { connectionExamples } from './connections.ts'
import { consoleExamples } from './console.ts'
import { domainExamples } from './domains.ts'
import { draftExamples } from './drafts.ts'
import { eventExamples } from './events.ts'
import type { Example, Examples } from './example.ts'
import { inboxExamples } from './inboxes.ts'
import { messageExamples } from './messages.ts'
import { policyExamples } from './policy.ts'
import { reviewExamples } from './reviews.ts'
import { sandboxExamples } from './sandbox.ts'
import { senderExamples } from './senders.ts'
import { sendingExamples } from './sending.ts'
import { serviceExamples } from './service.ts'
import { threadExamples } from './threads.ts'
import { transferExamples } from './transfers.ts'
import { uploadExamples } from './uploads.ts'
import { webhookExamples } from './webhooks.ts'

const examples: Examples = {
  ...accountExamples,
  ...connectionExamples,
  ...consoleExamples,
  ...domainExamples,
  ...draftExamples,
  ...eventExamples,
  ...inboxExamples,
  ...messageExamples,
  ...policyExamples,
  ...reviewExamples,
  ...sandboxExamples,
  ...senderExamples,
  ...sendingExamples,
  ...serviceExamples,
  ...threadExamples,
  ...transferExamples,
  ...uploadExamples,
  ...webhookExamples,
}

export function exampleOf(id: DescribedOperationId): Example {
  return examples[id]
}
