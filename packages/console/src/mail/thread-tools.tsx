// Actions of an open thread, and its labels, assignee and snooze.

import type { Thread } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatMoment } from '#data/format.ts'
import { paths } from '#data/paths.ts'
import { client } from '#data/session.ts'
import { toastFailure } from '#data/toasts.ts'
import { ActionButton, Button } from '#parts/button.tsx'
import { Notice } from '#parts/notice.tsx'
import { AssignDialog, SnoozeDialog } from './handoff.tsx'
import { LabelEditor } from './labels.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import {
  changeThread,
  type FailedThread,
  removedAt,
  removeThreads,
  restoreThreads,
  type ThreadChange,
  trashThreads,
} from './thread-actions.ts'
import { filterQuery, noFilter } from './thread-filter.ts'

type Changing = { thread: Thread; onChanged: (thread: Thread) => void }

export function ThreadTools({
  thread,
  onChanged,
  onGone,
}: Changing & {
  /** Called after the thread was trashed, restored or removed. */
  onGone: () => void
}) {
  const [asked, setAsked] = useState<'assign' | 'snooze' | 'remove' | null>(null)
  const move = async (action: (threads: Thread[]) => Promise<{ failed: FailedThread[] }>) => {
    const { failed } = await action([thread])
    if (failed[0] !== undefined) throw new Error(failed[0].reason)
    onGone()
  }
  const close = () => setAsked(null)
  const update = async (change: ThreadChange) => {
    onChanged(await changeThread(thread, (id) => client.threads.update(id, change)))
    close()
  }
  if (thread.claim !== null) return null
  if (thread.trashedAt !== null) {
    return (
      <div class="row">
        <ActionButton icon="retry" action={() => move(restoreThreads)}>
          Restore
        </ActionButton>
        <Button icon="trash" onClick={() => setAsked('remove')}>
          Permanently remove
        </Button>
        {asked === 'remove' && (
          <RemoveDialog
            threads={[thread]}
            onClose={() => setAsked(null)}
            submit={() => move(removeThreads)}
          />
        )}
      </div>
    )
  }
  return (
    <div class="row thread-tools">
      <ActionButton
        icon={thread.isRead ? 'unread' : 'check'}
        action={() => update({ is_read: !thread.isRead })}
      >
        {thread.isRead ? 'Mark unread' : 'Mark read'}
      </ActionButton>
      <Button icon="person" label="Assign" onClick={() => setAsked('assign')} />
      <Button icon="clock" label="Snooze" onClick={() => setAsked('snooze')} />
      <ActionButton icon="trash" label="Move to the trash" action={() => move(trashThreads)} />
      {asked === 'assign' && (
        <AssignDialog
          title="Assign this thread"
          before={thread.assignee ?? ''}
          onClose={close}
          submit={(assignee) => update({ assignee })}
        />
      )}
      {asked === 'snooze' && (
        <SnoozeDialog
          title="Snooze this thread"
          onClose={close}
          submit={(snoozedUntil) => update({ snoozedUntil })}
        />
      )}
    </div>
  )
}

/** Labels, assignee, snooze and trash state of a thread. */
export function ThreadStatus({ thread, onChanged }: Changing) {
  const { inboxId, labels, assignee, snoozedUntil, trashedAt, claim } = thread
  const isFree = claim === null && trashedAt === null
  const hrefOf = (label: string) => paths.inbox(inboxId, filterQuery({ ...noFilter, label }))
  const end = () => {
    changeThread(thread, (id) => client.threads.update(id, { snoozedUntil: null })).then(
      onChanged,
      toastFailure,
    )
  }
  return (
    <>
      {trashedAt !== null && (
        <Notice
          tone="warn"
          title={`In the trash: permanently removed on ${formatMoment(removedAt(trashedAt))}`}
        >
          Nothing can be sent in it until it is restored. New mail for it starts a new thread.
        </Notice>
      )}
      {(labels.length > 0 || isFree) && (
        <LabelEditor
          labels={labels}
          hrefOf={hrefOf}
          change={
            isFree
              ? async (change) =>
                  onChanged(await changeThread(thread, (id) => client.threads.update(id, change)))
              : undefined
          }
        />
      )}
      {assignee !== null && (
        <p>
          <span class="muted">Assigned to</span>{' '}
          <a href={paths.inbox(inboxId, filterQuery({ ...noFilter, assignee }))}>{assignee}</a>
        </p>
      )}
      {snoozedUntil !== null && (
        <p>
          <span class="muted">Snoozed until {formatMoment(snoozedUntil)}</span>{' '}
          {isFree && (
            <Button kind="quiet" onClick={end}>
              End snooze
            </Button>
          )}
        </p>
      )}
    </>
  )
}
