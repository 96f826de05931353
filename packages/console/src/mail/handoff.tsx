// Who handles a thread and when: assignee, snooze, and claims of workers.

import type { Thread } from '@mailroom/sdk'
import { useEffect, useState } from 'preact/hooks'
import { claimWords } from '#data/claims.ts'
import { formatMoment, localMinute } from '#data/format.ts'
import { FormDialog } from '#parts/dialog.tsx'
import { TextField } from '#parts/field.tsx'
import { Notice } from '#parts/notice.tsx'
import { Choice } from '#parts/small.tsx'

export function AssignDialog({
  title,
  before,
  submit,
  onClose,
}: {
  title: string
  /** The current assignee; '' if there is none. */
  before: string
  /** Null removes the assignee. */
  submit: (assignee: string | null) => Promise<unknown>
  onClose: () => void
}) {
  const [assignee, setAssignee] = useState(before)
  return (
    <FormDialog
      title={title}
      action="Save"
      onClose={onClose}
      submit={() => submit(assignee.trim() || null)}
    >
      {(fields) => (
        <TextField
          label="Assigned to"
          name="assignee"
          value={assignee}
          onValue={setAssignee}
          error={fields.assignee}
          hint="A person, a team or an agent, in your own words. Leave empty to unassign the thread."
          maxLength={200}
          autocomplete="off"
          autofocus
        />
      )}
    </FormDialog>
  )
}

const snoozes = [
  { value: 'today', text: 'Later today' },
  { value: 'tomorrow', text: 'Tomorrow' },
  { value: 'week', text: 'Next week' },
  { value: 'other', text: 'Another time' },
] as const
type Snooze = (typeof snoozes)[number]['value']

const MORNING_HOUR = 9
const LATER_HOURS = 3

/** In the person's time zone; next week begins on Monday. */
function snoozeTime(snooze: Exclude<Snooze, 'other'>, now: Date): Date {
  const at = new Date(now)
  if (snooze === 'today') {
    at.setHours(at.getHours() + LATER_HOURS)
    return at
  }
  const days = snooze === 'tomorrow' ? 1 : (8 - at.getDay()) % 7 || 7
  at.setDate(at.getDate() + days)
  at.setHours(MORNING_HOUR, 0, 0, 0)
  return at
}

export function SnoozeDialog({
  title,
  submit,
  onClose,
}: {
  title: string
  submit: (snoozedUntil: string) => Promise<unknown>
  onClose: () => void
}) {
  const [snooze, setSnooze] = useState<Snooze>('tomorrow')
  const [typed, setTyped] = useState(() => localMinute(snoozeTime('tomorrow', new Date())))
  const at = snooze === 'other' ? new Date(typed) : snoozeTime(snooze, new Date())
  const isTime = !Number.isNaN(at.getTime())
  return (
    <FormDialog
      title={title}
      action="Snooze"
      onClose={onClose}
      isDisabled={!isTime}
      submit={async () => {
        if (at.getTime() <= Date.now()) throw new Error('That time has passed. Choose a later one.')
        await submit(at.toISOString())
      }}
    >
      {(fields) => (
        <>
          <Choice label="Until when" value={snooze} options={snoozes} onValue={setSnooze} />
          {snooze === 'other' && (
            <TextField
              label="Date and time"
              name="snoozedUntil"
              type="datetime-local"
              value={typed}
              onValue={setTyped}
              error={fields.snoozedUntil}
              required
            />
          )}
          <p class="hint">
            {isTime && `Until ${formatMoment(at)}. `}Workers skip the thread until then. New mail
            ends the snooze.
          </p>
        </>
      )}
    </FormDialog>
  )
}

/** Timers longer than 24 days fire at once in browsers. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Calls the function just after the given time; null means never. */
export function useAfter(iso: string | null, call: () => void): void {
  useEffect(() => {
    if (iso === null) return
    const restMs = Date.parse(iso) - Date.now()
    const timer = setTimeout(call, Math.min(Math.max(0, restMs) + 500, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  }, [iso])
}

export function ClaimNotice({ claim }: { claim: NonNullable<Thread['claim']> }) {
  return (
    <Notice tone="info" title={claimWords(claim)}>
      No one else can change the thread or send in it until the worker is done or the claim expires.
    </Notice>
  )
}
