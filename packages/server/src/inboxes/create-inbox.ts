// Making an inbox.

import type { Chance } from '#platform/chance.ts'
import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Db } from '#schema/tables.ts'
import { requireWebhookUrl } from '#webhooks/webhook.ts'
import { makeNewSecret } from '#webhooks/webhook-secrets.ts'
import { insertInbox } from './change-inbox-rows.ts'
import {
  inboxAddressOf,
  isMailboxName,
  isReservedName,
  makeMailboxName,
  type ShownInbox,
} from './inbox.ts'
import { invalidDomain, requireDomain } from './require-domain.ts'

/** Random names collide once in 10^12; more attempts than this mean that something is broken. */
const RANDOM_NAME_ATTEMPTS_MAX = 5

export type CreateInbox = {
  accountId: string
  mailboxName?: string | undefined
  displayName: string | null
  domain?: string | undefined
  /** Pod id or `clientId`; the default pod when absent. */
  podId?: string | undefined
  /** Where to post its events; null for nowhere. */
  webhookUrl: string | null
  /** By the operator, who may give reserved names away. */
  isByOperator?: boolean
}

export type ChangedInbox = {
  inbox: ShownInbox
  /** Of the webhook that was made with it; null where none was. */
  webhookSecret: string | null
}

/**
 * An inbox that receives from then on. Refused with `invalid_mailbox_name`, `invalid_domain`,
 * `invalid_webhook_url`, `invalid_pod`, `address_taken`, `inbox_limit_reached` or
 * `rate_limit_exceeded`, in this order but for names that are reserved and a domain of another pod.
 */
export async function createInbox(
  deps: {
    db: Db
    clock: Clock
    chance: Chance
    makeId: MakeId
    inboxDomain: string
    inboxesPerDay: number
    sealer: Sealer
    allowPrivateEgress: boolean
  },
  input: CreateInbox,
): Promise<ChangedInbox> {
  const { mailboxName, webhookUrl } = input
  if (mailboxName !== undefined && !isMailboxName(mailboxName))
    throw problem('invalid_mailbox_name')
  const customDomain = await requireDomain(deps, { ...input, domain: input.domain })
  const domain = customDomain ?? deps.inboxDomain
  if (webhookUrl !== null) requireWebhookUrl(deps, webhookUrl, 'webhookUrl')
  // Whoever has a domain answers for all of its names.
  const isReserved = mailboxName !== undefined && isReservedName(mailboxName)
  if (isReserved && customDomain === null && input.isByOperator !== true) {
    throw problem('address_taken', `The name ${mailboxName} is reserved on ${domain}.`)
  }
  const made = makeNewSecret(deps)
  const webhook =
    webhookUrl === null ? null : { id: made.id, url: webhookUrl, sealedSecrets: made.sealedSecrets }
  for (let attempt = 1; ; attempt++) {
    const name = mailboxName ?? makeMailboxName(deps.chance)
    const nowMs = deps.clock.now()
    const outcome = await deps.db.write(insertInbox, {
      accountId: input.accountId,
      inboxId: deps.makeId('inb'),
      pod: input.podId ?? null,
      address: inboxAddressOf(name, domain),
      domain: customDomain,
      displayName: input.displayName,
      webhook,
      nowMs,
      creationsPerDay: deps.inboxesPerDay,
    })
    switch (outcome.kind) {
      case 'created':
        return { inbox: outcome.inbox, webhookSecret: webhook && made.secret }
      case 'invalid_pod':
        throw problem('invalid_pod')
      case 'invalid_domain':
        throw invalidDomain(domain, outcome.reason)
      case 'address_taken':
        if (mailboxName === undefined && attempt < RANDOM_NAME_ATTEMPTS_MAX) continue
        throw problem('address_taken')
      case 'limit_reached':
        throw problem(
          'inbox_limit_reached',
          `The plan allows ${outcome.limit} inboxes, and the account has reached that number.`,
        )
      case 'too_many':
        throw problem(
          'rate_limit_exceeded',
          `An account may create ${deps.inboxesPerDay} inboxes in 24 hours.`,
          { retryAfterSeconds: Math.ceil((outcome.retryAtMs - nowMs) / 1000) },
        )
    }
  }
}
