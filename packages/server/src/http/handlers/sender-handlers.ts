// Handlers of sender rules, the account's filter mode, and quarantine.

import { getAccount, updateAccount } from '#actions/account/update-account.ts'
import type { Deps } from '#actions/deps.ts'
import {
  deleteQuarantined,
  getQuarantined,
  listQuarantined,
  readQuarantinedRaw,
} from '#actions/quarantine/quarantine.ts'
import { releaseQuarantined } from '#actions/quarantine/release-quarantined.ts'
import {
  createSenderRule,
  deleteSenderRule,
  getSenderRule,
  listSenderRules,
} from '#actions/sender/sender-rules.ts'
import type { HandlersOf } from '#http/handler.ts'
import { fileHeaders } from '#http/present/download.ts'
import { presentMessage } from '#http/present/resources.ts'
import { presentOwnAccount, presentQuarantined, presentSenderRule } from '#http/present/senders.ts'

/** One handler for each operation on who may write to an account. */
export function senderHandlers(
  deps: Deps,
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

function quarantineHandlers(deps: Deps): HandlersOf<'quarantine'> {
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
