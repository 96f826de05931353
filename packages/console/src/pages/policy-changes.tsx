// The latest changes of policies, from the audit.

import type { PolicyAuditEntry } from '@mailroom/sdk'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Empty } from '#parts/notice.tsx'
import { Section } from '#parts/page.tsx'
import { PagedList, usePaged } from '#parts/pager.tsx'
import { Time } from '#parts/small.tsx'
import { ChangeList } from './policy-form.tsx'
import { changeLines, widthOf } from './policy-words.ts'

const ENTRIES_SHOWN = 10
const APPROVERS_MAX = 100

export function PolicyChanges({
  places,
  saves,
}: {
  places: readonly { value: string; text: string }[]
  /** Each save of a policy loads the list again. */
  saves: number
}) {
  const list = usePaged(
    `policy changes ${saves}`,
    (bounds) => client.policy.audit({ decision: 'change', ...bounds }).page(),
    ENTRIES_SHOWN,
  )
  const approvers = useResource('names of approvers', (signal) =>
    client.approvers.list({ limit: APPROVERS_MAX, signal }).page(),
  )
  const actorWords = ({ actor }: PolicyAuditEntry) => {
    if (actor?.kind === 'key') return 'an API key'
    if (actor?.kind !== 'approver') return 'the operator'
    return approvers.value?.data.find(({ id }) => id === actor.id)?.name ?? 'an approver'
  }
  const placeWords = ({ podId, inboxId }: PolicyAuditEntry) => {
    const id = inboxId ?? podId ?? ''
    return places.find(({ value }) => value === id)?.text ?? id
  }
  return (
    <Section title="Recent changes">
      <div class="panel">
        <PagedList
          list={list}
          label="changes"
          rows={2}
          empty={<Empty icon="clock" title="No changes in the last 90 days" />}
        >
          <ul class="event-lines">
            {list.items.map((entry) => (
              <li key={entry.id}>
                <div class="event-subject">
                  {entry.change !== null && (
                    <ChangeList
                      lines={changeLines(entry.direction, entry.change, widthOf(entry))}
                    />
                  )}
                </div>
                <span class="muted">
                  {placeWords(entry)}, by {actorWords(entry)} · <Time at={entry.createdAt} />
                </span>
              </li>
            ))}
          </ul>
        </PagedList>
      </div>
    </Section>
  )
}
