// Paths of the pages.

const part = (text: string) => encodeURIComponent(text)

export const paths = {
  overview: '/console/',
  inboxes: '/console/inboxes',
  /** `query` is empty or begins with `?`. */
  inbox: (id: string, query = '') => `/console/inboxes/${part(id)}${query}`,
  thread: (inboxId: string, threadId: string, query = '') =>
    `/console/inboxes/${part(inboxId)}/threads/${part(threadId)}${query}`,
  allMail: (query = '') => `/console/mail${query}`,
  allMailThread: (inboxId: string, threadId: string, query = '') =>
    `/console/mail/${part(inboxId)}/${part(threadId)}${query}`,
  scheduled: (inboxId: string) => `/console/inboxes/${part(inboxId)}/scheduled`,
  transfers: (inboxId: string) => `/console/inboxes/${part(inboxId)}/transfers`,
  drafts: (inboxId?: string) => `/console/drafts${inboxId ? `?inbox=${part(inboxId)}` : ''}`,
  /** Opens the draft where it belongs. */
  draft: (inboxId: string, id: string) =>
    `/console/drafts?inbox=${part(inboxId)}&draft=${part(id)}`,
  threadDraft: ({ inboxId, threadId }: { inboxId: string; threadId: string }, draftId: string) =>
    paths.thread(inboxId, threadId, `?draft=${part(draftId)}`),
  search: (inboxId?: string, words?: string) => {
    const query = new URLSearchParams()
    if (inboxId) query.set('inbox', inboxId)
    if (words) query.set('q', words)
    return `/console/search${query.size > 0 ? `?${query}` : ''}`
  },
  reviews: '/console/reviews',
  review: (id: string) => `/console/reviews/${part(id)}`,
  domains: '/console/domains',
  domain: (id: string) => `/console/domains/${part(id)}`,
  webhooks: '/console/webhooks',
  webhook: (id: string) => `/console/webhooks/${part(id)}`,
  events: '/console/events',
  suppressions: '/console/suppressions',
  quarantine: '/console/quarantine',
  rules: '/console/sender-rules',
  policy: '/console/policy',
  approvers: '/console/approvers',
  keys: '/console/keys',
  connections: '/console/connections',
  sandbox: '/console/sandbox',
  settings: '/console/settings',
  pair: '/console/pair',
} as const

/** The service's own URL, which may differ from the address that this browser uses. */
export function ownAddress(url: string): string {
  const { pathname, search } = new URL(url, location.origin)
  return pathname + search
}

/** Where the service returns the raw message. */
export function rawPath(messageId: string): string {
  return `/v1/messages/${part(messageId)}/raw`
}
