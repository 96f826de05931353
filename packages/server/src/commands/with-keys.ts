// The keys of the service for a command, beside a service that may be running.

import { makeDkimKey } from '@mailroom/mail/dkim.ts'
import type { ServiceKeyDeps } from '#domains/signers.ts'
import { openKeys } from '#wiring/open-keys.ts'
import type { CommandStore } from './with-store.ts'

/** Throws, naming MAILROOM_SECRET_KEY, when the secrets in the database do not open. */
export async function withKeys(store: CommandStore): Promise<CommandStore & ServiceKeyDeps> {
  const { sealer } = await openKeys(store)
  return { ...store, sealer, makeDkimKey, inboxDomain: store.settings.inboxDomain }
}
