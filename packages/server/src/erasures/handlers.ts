import type { Erasure } from '@mailroom/contract/erasures.ts'
import { isAudited } from '#accounts/accounts.ts'
import { hasApprover } from '#accounts/store/approvers.ts'
import { type FoundErasure, findErasure, insertErasure } from '#erasures/store/erasures.ts'
import { type Handlers, type HandlersOf, untilGone } from '#http/handler.ts'
import { findOwnInbox } from '#inboxes/store/inboxes.ts'
import { presentTime } from '#platform/clock.ts'
import { keepsFreeSpace } from '#platform/db/dialect.ts'
import { addressKey, checkEmailAddress } from '#platform/email-address.ts'
import { notFound, problem, wrongField } from '#platform/problem.ts'
import type { Store } from '#store/store.ts'
import type { Db } from '#store/tables.ts'

type Deps = Store & { wakeWorker(): void }

export function erasureHandlers(deps: Deps): HandlersOf<'erasures'> {
  const get = async (accountId: string, id: string): Promise<Erasure> => {
    const found = await findErasure(deps.db, accountId, id)
    if (found === null) throw notFound()
    return presentErasure(found, deps.db)
  }
  return {
    'erasures.create': async ({ body: { address } }, context) => {
      const { accountId, actor } = context
      const fault = checkEmailAddress(address)
      if (fault !== null) throw wrongField('address', fault)
      if ((await findOwnInbox(deps.db, accountId, address)) !== null) {
        throw wrongField('address', 'is an inbox of the account; delete the inbox instead')
      }
      const id = deps.makeId('ers')
      const key = addressKey(address)
      await checkAudit(deps, { accountId, addressKey: key }, context)
      const isInserted = await deps.db.write(insertErasure, {
        id,
        accountId,
        addressKey: key,
        actor,
        auditId: deps.makeId('aud'),
        nowMs: deps.clock.now(),
      })
      if (!isInserted) throw problem('transfer_limit_reached')
      deps.wakeWorker()
      return get(accountId, id)
    },
    'erasures.get': ({ path }, { accountId }) => get(accountId, path.id),
  }
}

/** Throws `approver_required` if the erasure would change the audit that approvers rely on. */
async function checkAudit(
  { db }: Store,
  asked: { accountId: string; addressKey: string },
  context: Parameters<Handlers['erasures.create']>[1],
): Promise<void> {
  if (context.actor.kind !== 'key' || !(await hasApprover(db, asked.accountId))) return
  await context.takeSlot()
  const { engine } = db
  if (!(await db.readLong(isAudited, { engine, ...asked }, untilGone(context)))) return
  throw problem(
    'approver_required',
    'The audit contains this address, so an approver must erase it.',
  )
}

const LEFT = [
  {
    place: 'backups',
    note: 'Earlier backups contain the mail until they are deleted.',
  },
  {
    place: 'other mailboxes',
    note: 'Mail delivered elsewhere, webhook deliveries and earlier downloads are outside the service.',
  },
  {
    place: 'rules and suppressions',
    note: 'Rules for the address and its suppression remain, because they protect its owner and the account. Delete them one by one.',
  },
  {
    place: 'text of other mail',
    note: 'Mail between other people remains, even if its text or a field such as Reply-To contains the address.',
  },
  {
    place: 'logs',
    note: 'Logs of the operator, and mail to the postmaster of the service, must be deleted by the operator.',
  },
]

const LEFT_BY_POSTGRES = {
  place: 'free space of PostgreSQL',
  note: 'PostgreSQL keeps the bytes of deleted rows until their space is used again, and in its write-ahead log. The operator removes them with VACUUM FULL, followed by a checkpoint.',
}

function presentErasure(row: FoundErasure, { engine }: Pick<Db, 'engine'>): Erasure {
  return {
    id: row.id,
    status: row.status,
    address: row.addressKey,
    removed: row.counts,
    left: keepsFreeSpace(engine) ? [...LEFT, LEFT_BY_POSTGRES] : LEFT,
    errorMessage: row.trouble?.message ?? null,
    nextAttemptAt: row.nextAttemptAtMs === null ? null : presentTime(row.nextAttemptAtMs),
    createdAt: presentTime(row.createdAtMs),
    completedAt: row.completedAtMs === null ? null : presentTime(row.completedAtMs),
  }
}
