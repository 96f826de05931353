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
    '"mailroom inbox list" lists them; "mailroom inbox create" creates one.',
  )
}

/** The only inbox of the account, for commands that were given none. */
export async function findOnlyInbox({ client }: Session): Promise<Inbox> {
  const { data, total } = await client.inboxes.list({ limit: 5 }).page()
  const [only] = data
  if (only === undefined) {
    const fix = 'Create one with "mailroom inbox create".'
    throw new Failure('notFound', 'The account has no inbox.', fix)
  }
  if (total === 1) return only
  const addresses = data.map(({ address }) => address).join(', ')
  throw new Failure(
    'usage',
    `The account has ${total} inboxes; choose one.`,
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
    '"mailroom domains list" lists them, international names as xn--….',
  )
}
