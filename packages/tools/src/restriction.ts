// Limits a connection to some tools, scopes or inboxes. A restriction never widens the access of its key.

import type { ConnectionScope } from '@mailroom/contract/vocabulary.ts'

export type Restriction = {
  /** Id or address of the only inbox of this connection, as the person wrote it. */
  readonly inbox: string | null
  /** Ids of the only inboxes of this connection; null for all of the account, even future ones. */
  readonly inboxIds: readonly string[] | null
  /** Omits the tools that need another scope; null for all scopes. */
  readonly scopes: readonly Scope[] | null
  /** Names of the only tools of this connection, or `core` for a set; null for all tools. */
  readonly tools: readonly string[] | null
  /** Omits the tools that send, create or change anything. */
  readonly isReadOnly: boolean
}

export type Scope = ConnectionScope

export const unrestricted: Restriction = {
  inbox: null,
  inboxIds: null,
  scopes: null,
  tools: null,
  isReadOnly: false,
}
