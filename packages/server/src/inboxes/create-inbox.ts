import { mailboxNameDefect } from '@mailroom/contract/mailbox-name.ts'
import { readDomainName } from '@mailroom/mail/address.ts'
import { inboxesAllowed } from '#accounts/store/accounts.ts'
import { fixOfLimit, setPlanCommandOf } from '#config/limit-fix.ts'
import {
  type DomainDefect,
  findInboxDomain,
  type InboxWebhook,
  insertInbox,
} from '#inboxes/store/change-inboxes.ts'
import { findInboxOfClient } from '#inboxes/store/inboxes.ts'
import type { Chance } from '#platform/chance.ts'
import { readNamedDomain } from '#platform/domain-name.ts'
import { limitFields, problem, wrongField } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { EditsOf } from '#store/columns.ts'
import type { inboxes } from '#store/nouns.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'
import { makeNewSecret, requireWebhookUrl } from '#webhooks/webhooks.ts'
import { inboxAddressOf, makeMailboxName, type ShownInbox } from './model.ts'
import { isReservedName, isServiceName } from './service-names.ts'

/** Random names collide once in 10^12, so more attempts than this indicate a fault. */
const RANDOM_NAME_ATTEMPTS_MAX = 5

type CreateInbox = EditsOf<typeof inboxes> & {
  accountId: string
  mailboxName?: string
  domain?: string
  /** Pod id or `clientId`; the default pod if omitted. */
  podId?: string
  webhookUrl?: string | null
  metadata?: Readonly<Record<string, string>>
  /** Only the operator may assign reserved names. */
  isByOperator?: boolean
}

export type CreateDeps = Store & {
  chance: Chance
  inboxDomain: string
  inboxesPerDay: number
  sealer: Sealer
  allowPrivateEgress: boolean
}

export type ChangedInbox = {
  inbox: ShownInbox
  /** Null unless this call created a webhook. */
  webhookSecret: string | null
}

type CreatedInbox = ChangedInbox & { isNew: boolean }

/**
 * The inbox receives mail immediately. If an inbox has the `clientId`, it is returned unchanged.
 * Errors, checked in this order except for reserved names and
 * domains of other pods: `invalid_mailbox_name`, `invalid_domain`, `invalid_webhook_url`,
 * `invalid_pod`, `address_taken`, `inbox_limit_reached`, `rate_limit_exceeded`.
 */
export async function createInbox(deps: CreateDeps, input: CreateInbox): Promise<CreatedInbox> {
  const existing = await findExisting(deps, input)
  if (existing !== null) return { inbox: existing, webhookSecret: null, isNew: false }
  const { mailboxName, webhookUrl = null, podId = null, isByOperator, ...given } = input
  const defect = mailboxName === undefined ? null : mailboxNameDefect(mailboxName)
  if (defect !== null) throw problem('invalid_mailbox_name', defect)
  if (isByOperator !== true) checkDisplayName(input.displayName)
  const customDomain = await requireDomain(deps, input)
  const domain = customDomain ?? deps.inboxDomain
  const made = webhookUrl === null ? null : makeInboxWebhook(deps, webhookUrl)
  // Accounts may use any name on their own domains.
  const isReserved = mailboxName !== undefined && isReservedName(mailboxName)
  if (isReserved && customDomain === null && isByOperator !== true) {
    throw problem('address_taken', `The name ${mailboxName} is reserved on ${domain}.`)
  }
  for (let attempt = 1; ; attempt++) {
    const name = mailboxName ?? makeMailboxName(deps.chance)
    const nowMs = deps.clock.now()
    const outcome = await deps.db.write(insertInbox, {
      ...given,
      inboxId: deps.makeId('inb'),
      pod: podId,
      address: inboxAddressOf(name, domain),
      domain: customDomain,
      webhook: made?.webhook ?? null,
      nowMs,
      creationsPerDay: deps.inboxesPerDay,
    })
    switch (outcome.kind) {
      case 'created':
        return { inbox: outcome.inbox, webhookSecret: made?.secret ?? null, isNew: true }
      case 'existing':
        return { inbox: outcome.inbox, webhookSecret: null, isNew: false }
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
          { fix: fixOfFullPlan(given.accountId, outcome.limit) },
        )
      case 'too_many':
        throw problem(
          'rate_limit_exceeded',
          `An account may create ${deps.inboxesPerDay} inboxes in 24 hours.`,
          {
            retryAfterSeconds: Math.ceil((outcome.retryAtMs - nowMs) / 1000),
            fix: fixOfLimit('inboxesPerDay'),
            fields: limitFields({
              scope: 'account',
              limit: deps.inboxesPerDay,
              resetsAtMs: outcome.retryAtMs,
            }),
          },
        )
    }
  }
}

async function findExisting(
  { db }: { db: Db },
  { accountId, clientId }: CreateInbox,
): Promise<ShownInbox | null> {
  return clientId == null ? null : await findInboxOfClient(db, accountId, clientId)
}

function fixOfFullPlan(accountId: string, limit: number): string {
  return limit === inboxesAllowed('launch')
    ? 'Delete an inbox with DELETE /v1/inboxes/{id}. No plan allows more inboxes.'
    : `Delete an inbox, or ask the operator to run: ${setPlanCommandOf(accountId, 'launch')}`
}

/** Throws `bad_request` if the name could be mistaken for the service itself. */
export function checkDisplayName(displayName: string | null | undefined): void {
  if (displayName == null || !isServiceName(displayName)) return
  throw wrongField('displayName', 'must not look like the name of the service')
}

export function makeInboxWebhook(
  deps: Pick<CreateDeps, 'allowPrivateEgress' | 'chance' | 'makeId' | 'sealer'>,
  url: string,
): { webhook: InboxWebhook; secret: string } {
  requireWebhookUrl(deps, url, 'webhookUrl')
  const { id, secret, sealedSecrets } = makeNewSecret(deps)
  return { webhook: { id, url, sealedSecrets }, secret }
}

/** Returns the custom domain's name, or null for the service's domain. Throws `invalid_domain`. */
async function requireDomain(
  deps: { db: Db; inboxDomain: string },
  { accountId, domain: text }: CreateInbox,
): Promise<string | null> {
  if (text === undefined || readDomainName(text) === deps.inboxDomain) return null
  const named = readNamedDomain(text)
  if (named.kind === 'invalid')
    throw problem('invalid_domain', `The domain name is invalid: ${named.reason}.`)
  const { domain } = named
  const found = await findInboxDomain(deps.db, { accountId, domain })
  if (found.kind === 'invalid_domain') throw invalidDomain(domain, found.reason)
  return domain
}

function invalidDomain(domain: string, defect: DomainDefect) {
  return problem('invalid_domain', `${domain} ${defectText(defect)}.`)
}

function defectText(defect: DomainDefect): string {
  switch (defect.kind) {
    case 'unknown':
      return 'is not a domain of this account'
    case 'foreign':
      return 'belongs to another account'
    case 'lost':
      return 'was verified by another account in the meantime'
    case 'pod':
      return 'may only be used by another pod'
    case 'status':
      return defect.status === 'failed'
        ? 'has failed its DNS checks and is not verified'
        : `is not verified: its status is ${defect.status}`
  }
}
