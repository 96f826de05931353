import { asciiDomain } from '@mailroom/mail/address.ts'
import { APPROVER_TOKEN_PREFIX, hashToken } from '#accounts/keys/issue-key.ts'
import type { Actor } from '#accounts/store/actor.ts'
import {
  APPROVERS_MAX,
  type Approver,
  insertApprover,
  markApproverDeleted,
} from '#accounts/store/approvers.ts'
import { BASE62, type Chance, randomText } from '#platform/chance.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Sealer } from '#platform/seal.ts'
import type { Store } from '#store/store.ts'
import { makeNewSecret, requireWebhookUrl } from '#webhooks/webhooks.ts'

/** Whether any API key may create an account's first approver, or only the operator. */
type FirstApprover = { readonly firstApprover: 'key' | 'machine' }

type OwnDomains = {
  /** Whether inboxes of this service can read mail for the domain, in lower-case A-labels. */
  isDomainHere(domain: string): Promise<boolean>
}

export type ApproverDeps = Store &
  OwnDomains &
  FirstApprover & { chance: Chance; sealer: Sealer; allowPrivateEgress: boolean }

/**
 * Only this result contains the token and the secret of the webhook. Throws `bad_request` if an
 * inbox could read the address's mail, or `invalid_webhook_url`.
 */
export async function createApprover(
  deps: ApproverDeps,
  input: {
    accountId: string
    name: string
    email: string | null
    webhookUrl: string | null
    actor: Actor
  },
): Promise<{ approver: Approver; token: string; webhookSecret: string | null }> {
  const { accountId, name, email, webhookUrl: url, actor } = input
  if (email !== null) await requireOutside(deps, email)
  if (url !== null) requireWebhookUrl(deps, url, 'webhookUrl')
  const { secret, ...sealed } = makeNewSecret(deps)
  const token = `${APPROVER_TOKEN_PREFIX}${randomText(deps.chance, BASE62, 40)}`
  const approver = { id: deps.makeId('apr'), name, email, createdAtMs: deps.clock.now() }
  const stored = { ...approver, tokenHash: hashToken(token) }
  const outcome = await deps.db.write(insertApprover, {
    accountId,
    approver: stored,
    webhook: url === null ? null : { ...sealed, url },
    actor,
    keyMayBegin: deps.firstApprover === 'key',
    eventId: deps.makeId('evt'),
    auditId: deps.makeId('aud'),
  })
  if (outcome === 'created') return { approver, token, webhookSecret: url === null ? null : secret }
  if (outcome === 'no_account') throw notFound()
  if (outcome === 'approver_required') throw problem('approver_required')
  if (outcome === 'machine_required') {
    throw problem(
      'approver_required',
      'The first approver of an account can only be created on the machine of the service.',
      {
        fix: `Ask the operator to run: mailroom admin approver create --account ${accountId} --name NAME`,
      },
    )
  }
  throw problem(
    'approver_limit_reached',
    `The account has reached the limit of ${APPROVERS_MAX} approvers.`,
  )
}

/** Takes effect on the next request. A second call throws `not_found`. */
export async function deleteApprover(
  { db, clock, makeId }: Store,
  input: { accountId: string; approverId: string; actor: Actor },
): Promise<void> {
  const ids = { eventId: makeId('evt'), auditId: makeId('aud') }
  const outcome = await db.write(markApproverDeleted, { ...input, ...ids, nowMs: clock.now() })
  if (outcome === 'not_found') throw notFound()
  if (outcome !== 'deleted') throw problem(outcome)
}

async function requireOutside({ isDomainHere }: OwnDomains, email: string): Promise<void> {
  const domain = asciiDomain(email.slice(email.lastIndexOf('@') + 1)).toLowerCase()
  if (!domain.startsWith('[') && !(await isDomainHere(domain))) return
  const message = 'must be on a domain whose mail this service does not receive'
  throw problem('bad_request', `email ${message}.`, { details: [{ path: 'email', message }] })
}
