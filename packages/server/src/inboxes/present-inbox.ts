import type {
  ChangedInbox as ChangedInboxShape,
  Inbox as InboxShape,
} from '@mailroom/contract/shapes/inbox.ts'
import { presentTime } from '#platform/clock.ts'
import type { ShownInbox } from './inbox.ts'

export function presentInbox(inbox: ShownInbox): InboxShape {
  const { id, address, displayName, podId, webhookUrl, createdAtMs } = inbox
  const { unreadThreads, lastMessageAtMs } = inbox
  return {
    id,
    address,
    displayName,
    podId,
    webhookUrl,
    unreadThreads,
    lastMessageAt: lastMessageAtMs === null ? null : presentTime(lastMessageAtMs),
    createdAt: presentTime(createdAtMs),
  }
}

/** With the secret that was made for its webhook, where one was. */
export function presentChangedInbox(changed: {
  inbox: ShownInbox
  webhookSecret: string | null
}): ChangedInboxShape {
  const { inbox, webhookSecret } = changed
  return { ...presentInbox(inbox), ...(webhookSecret === null ? {} : { webhookSecret }) }
}
