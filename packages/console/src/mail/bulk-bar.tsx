// Changes several threads at once. Each is tried; failures are listed with their reasons.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { plural, subjectOf } from '#data/format.ts'
import { useKeys } from '#data/keyboard.ts'
import { ActionButton, Button } from '#parts/button.tsx'
import { FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Notice } from '#parts/notice.tsx'
import { AssignDialog, SnoozeDialog } from './handoff.tsx'
import { LABEL_HINT, LabelSuggestions, splitLabels } from './labels.tsx'
import { RemoveDialog } from './remove-dialog.tsx'
import type { Selection } from './selection.ts'
import {
  type FailedThread,
  removeThreads,
  restoreThreads,
  type ThreadChange,
  trashThreads,
  updateThreads,
} from './thread-actions.ts'

type Outcome = { changed: Thread[]; failed: FailedThread[] }
type Action = (threads: readonly Thread[]) => Promise<Outcome>

export function BulkBar({
  threads,
  selection,
  isTrash,
  onDone,
}: {
  threads: readonly Thread[]
  selection: Selection
  isTrash: boolean
  onDone: () => void
}) {
  const [asked, setAsked] = useState<'label' | 'assign' | 'snooze' | 'remove' | null>(null)
  const [failed, setFailed] = useState<readonly FailedThread[]>([])
  const chosen = threads.filter(({ id }) => selection.ids.has(id))
  const run = async (action: Action) => {
    setFailed([])
    const outcome = await action(chosen)
    setFailed(outcome.failed)
    // Failed threads stay selected, to try again.
    selection.set(outcome.failed.map(({ thread }) => thread.id))
    onDone()
  }
  const update = async (change: ThreadChange, words: string) => {
    await run((threads) => updateThreads(threads, change, words))
    setAsked(null)
  }
  const close = () => setAsked(null)
  const isSnoozed = chosen.length > 0 && chosen.every((one) => one.snoozedUntil !== null)
  useKeys({ '#': chosen.length > 0 && !isTrash ? () => void run(trashThreads) : undefined })
  return (
    <div class="bulk">
      <span class="unseen" role="status">
        {chosen.length > 0 ? `${plural(chosen.length, 'thread')} selected` : ''}
      </span>
      {chosen.length > 0 && (
        <div class="bulk-row">
          <SelectAll count={chosen.length} total={threads.length} onAll={selection.setAll} />
          {isTrash ? (
            <span class="row">
              <ActionButton kind="quiet" icon="retry" action={() => run(restoreThreads)}>
                Restore
              </ActionButton>
              <Button kind="quiet" icon="trash" onClick={() => setAsked('remove')}>
                Remove
              </Button>
            </span>
          ) : (
            <span class="row">
              <ActionButton
                kind="quiet"
                icon="check"
                label="Mark as read"
                action={() => update({ is_read: true }, 'marked as read')}
              />
              <ActionButton
                kind="quiet"
                icon="unread"
                label="Mark as unread"
                action={() => update({ is_read: false }, 'marked as unread')}
              />
              <Button
                kind="quiet"
                icon="label"
                label="Change labels"
                onClick={() => setAsked('label')}
              />
              <Button
                kind="quiet"
                icon="person"
                label="Assign"
                onClick={() => setAsked('assign')}
              />
              {isSnoozed ? (
                <ActionButton
                  kind="quiet"
                  icon="clock"
                  label="End snooze"
                  action={() => update({ snoozedUntil: null }, 'no longer snoozed')}
                />
              ) : (
                <Button
                  kind="quiet"
                  icon="clock"
                  label="Snooze"
                  onClick={() => setAsked('snooze')}
                />
              )}
              <ActionButton
                kind="quiet"
                icon="trash"
                label="Move the selected to the trash"
                action={() => run(trashThreads)}
              />
            </span>
          )}
        </div>
      )}
      <Failures failed={failed} onClose={() => setFailed([])} />
      {asked === 'label' && (
        <LabelDialog
          count={chosen.length}
          onClose={close}
          submit={(change) => update(change, 'labelled')}
        />
      )}
      {asked === 'assign' && (
        <AssignDialog
          title={`Assign ${plural(chosen.length, 'thread')}`}
          before={commonAssignee(chosen)}
          onClose={close}
          submit={(assignee) => update({ assignee }, assignee === null ? 'unassigned' : 'assigned')}
        />
      )}
      {asked === 'snooze' && (
        <SnoozeDialog
          title={`Snooze ${plural(chosen.length, 'thread')}`}
          onClose={close}
          submit={(snoozedUntil) => update({ snoozedUntil }, 'snoozed')}
        />
      )}
      {asked === 'remove' && (
        <RemoveDialog
          threads={chosen}
          onClose={close}
          submit={async () => {
            await run(removeThreads)
            close()
          }}
        />
      )}
    </div>
  )
}

/** The assignee of all threads; '' unless it is the same. */
function commonAssignee(threads: readonly Thread[]): string {
  const [first = ''] = new Set(threads.map(({ assignee }) => assignee ?? ''))
  return threads.every(({ assignee }) => (assignee ?? '') === first) ? first : ''
}

function SelectAll({
  count,
  total,
  onAll,
}: {
  count: number
  total: number
  onAll: (isSelected: boolean) => void
}) {
  const element = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (element.current !== null) element.current.indeterminate = count < total
  }, [count, total])
  return (
    <label class="bulk-all">
      <input
        ref={element}
        type="checkbox"
        aria-label="Select all on this page"
        checked={count === total}
        onChange={(event) => onAll(event.currentTarget.checked)}
      />
      <span>{count} selected</span>
    </label>
  )
}

function Failures({ failed, onClose }: { failed: readonly FailedThread[]; onClose: () => void }) {
  if (failed.length === 0) return null
  return (
    <Notice
      tone="bad"
      title={`${plural(failed.length, 'thread')} could not be changed`}
      actions={<Button kind="quiet" icon="close" label="Dismiss the list" onClick={onClose} />}
    >
      <ul class="failures">
        {failed.map(({ thread, reason }) => (
          <li key={thread.id}>
            <strong>{subjectOf(thread)}</strong>: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function LabelDialog({
  count,
  submit,
  onClose,
}: {
  count: number
  submit: (change: { addLabels: string[]; removeLabels: string[] }) => Promise<unknown>
  onClose: () => void
}) {
  const [added, setAdded] = useState('')
  const [removed, setRemoved] = useState('')
  const listId = useId()
  const addLabels = splitLabels(added)
  const removeLabels = splitLabels(removed)
  return (
    <FormDialog
      title={`Labels of ${plural(count, 'thread')}`}
      action="Save"
      onClose={onClose}
      isDisabled={addLabels.length + removeLabels.length === 0}
      submit={() => submit({ addLabels, removeLabels })}
    >
      {() => (
        <>
          <TextField
            label="Add"
            name="addLabels"
            value={added}
            onValue={setAdded}
            hint={`Separated by commas. ${LABEL_HINT}`}
            list={listId}
            autocomplete="off"
            spellcheck={false}
            autofocus
          />
          <TextField
            label="Remove"
            name="removeLabels"
            value={removed}
            onValue={setRemoved}
            list={listId}
            autocomplete="off"
            spellcheck={false}
          />
          <LabelSuggestions id={listId} />
        </>
      )}
    </FormDialog>
  )
}
