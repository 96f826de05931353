// Things by what people call them: an inbox by its address, a domain by its name.

import type { Inbox } from '@mailroom/sdk'
import { Failure } from '#base/failure.ts'
import type { Session } from './open-session.ts'

/** What the API refers to by id, and people by another name as well. */
export type Named = 'inbox' | 'domain'

/** The id; what is neither an address nor a name is taken for an id. */
export async function findId(session: Session, kind: Named, text: string): Promise<string> {
  return kind === 'inbox' ? findInboxId(session, text) : findDomainId(session, text)
}

async function findInboxId({ client }: Session, text: string): Promise<string> {
  if (!text.includes('@')) return text
  const address = text.toLowerCase()
  for await (const inbox of client.inboxes.list()) {
    if (inbox.address.toLowerCase() === address) return inbox.id
  }
  throw new Failure(
    'notFound',
    `The account has no inbox ${text}.`,
    'See "mailroom inbox list", or make it with "mailroom inbox create".',
  )
}

/** The only inbox of the account, for commands that were given none. */
export async function findOnlyInbox({ client }: Session): Promise<Inbox> {
  const { data, total } = await client.inboxes.list({ limit: 5 }).page()
  const [only] = data
  if (only === undefined) {
    const fix = 'Make one with "mailroom inbox create".'
    throw new Failure('notFound', 'The account has no inbox.', fix)
  }
  if (total === 1) return only
  const addresses = data.map(({ address }) => address).join(', ')
  throw new Failure(
    'usage',
    `The account has ${total} inboxes: which one?`,
    `Name it with --inbox: ${addresses}${total > data.length ? ', …' : ''}.`,
  )
}

async function findDomainId({ client }: Session, text: string): Promise<string> {
  if (!text.includes('.')) return text
  const name = text.toLowerCase()
  for await (const domain of client.domains.list()) {
    if (domain.domain === name) return domain.id
  }
  throw new Failure(
    'notFound',
    `The account has no domain ${text}.`,
    'See "mailroom domains list"; domains are listed in A-labels (xn--…).',
  )
}
