// Handlers of sender rules, the account's filter mode, and quarantine.

import { getAccount, updateAccount } from '#accounts/account.ts'
import { fileHeaders } from '#http/download.ts'
import type { HandlersOf } from '#http/handler.ts'
import type { Downloads } from '#mailbox/downloads.ts'
import type { Extractions } from '#mailbox/extractions.ts'
import { presentMessage } from '#mailbox/present-message.ts'
import type { BlobStore } from '#platform/blobs/blob-store.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import type { Parser } from '#platform/workers/parser.ts'
import type { Db } from '#schema/tables.ts'
import { presentOwnAccount, presentQuarantined, presentSenderRule } from './present-sender-rule.ts'
import {
  deleteQuarantined,
  getQuarantined,
  listQuarantined,
  readQuarantinedRaw,
} from './quarantine.ts'
import { releaseQuarantined } from './release-quarantined.ts'
import {
  createSenderRule,
  deleteSenderRule,
  getSenderRule,
  listSenderRules,
} from './sender-rules.ts'

/** What the functions below work with. */
type Needs = {
  db: Db
  clock: Clock
  makeId: MakeId
  parser: Parser
  downloads: Downloads
  extractions: Extractions
  blobs: BlobStore | null
  inboxDomain: string
  smtpHostname: string
  publicUrl: string
  urlKey: Uint8Array
  wakeEvents: () => void
}

/** One handler for each operation on who may write to an account. */
export function senderHandlers(
  deps: Needs,
): HandlersOf<'senderRules'> & HandlersOf<'account'> & HandlersOf<'quarantine'> {
  return {
    ...quarantineHandlers(deps),

    'senderRules.list': async ({ query }, { accountId }) => {
      const { type = null, podId = null, inboxId = null, value = null, ...page } = query
      const asked = { accountId, type, pod: podId, inboxId, value, ...page }
      const { rules, total } = await listSenderRules(deps, asked)
      return { data: rules.map(presentSenderRule), total }
    },
    'senderRules.create': async ({ body }, { accountId }) => {
      const { type, value, podId = null, inboxId = null, requireVerified = null } = body
      const asked = { accountId, type, value, pod: podId, inboxId }
      const requiresVerified = requireVerified
      return presentSenderRule(await createSenderRule(deps, { ...asked, requiresVerified }))
    },
    'senderRules.get': async ({ path }, { accountId }) =>
      presentSenderRule(await getSenderRule(deps, { accountId, ruleId: path.id })),
    'senderRules.delete': async ({ path }, { accountId }) => {
      await deleteSenderRule(deps, { accountId, ruleId: path.id })
    },

    'account.get': async (_input, { accountId }) =>
      presentOwnAccount(await getAccount(deps, { accountId })),
    'account.me': async (_input, { accountId, keyId }) => {
      const { name, plan } = await getAccount(deps, { accountId })
      return { accountId, name, plan, apiKeyScope: 'account', keyId }
    },
    'account.update': async ({ body }, { accountId }) =>
      presentOwnAccount(await updateAccount(deps, { id: accountId, filterMode: body.filterMode })),
  }
}

function quarantineHandlers(deps: Needs): HandlersOf<'quarantine'> {
  return {
    'quarantine.list': async ({ query }, { accountId }) => {
      const { inboxId = null, ...page } = query
      const { quarantined, total } = await listQuarantined(deps, { accountId, inboxId, ...page })
      return { data: quarantined.map(presentQuarantined), total }
    },
    'quarantine.get': async ({ path }, { accountId }) =>
      presentQuarantined(await getQuarantined(deps, { accountId, quarantinedId: path.id })),
    'quarantine.raw': async ({ path }, { accountId }) => ({
      headers: fileHeaders('message/rfc822', 'message.eml'),
      ...(await readQuarantinedRaw(deps, { accountId, quarantinedId: path.id })),
    }),
    'quarantine.release': async ({ path }, { accountId }) => {
      const message = await releaseQuarantined(deps, { accountId, quarantinedId: path.id })
      return presentMessage(message, deps, deps.clock.now())
    },
    'quarantine.delete': async ({ path }, { accountId }) => {
      await deleteQuarantined(deps, { accountId, quarantinedId: path.id })
    },
  }
}
