// When what an inbox holds has changed: by an event of the service, or by what was done here.

import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLive } from './live.ts'
import { useGathered } from './use-gathered.ts'

type Change = { inboxId: string; round: number }

const latest = signal<Change | null>(null)
let rounds = 0

/** After a change of our own, of which no event tells at once. */
export function announceMailChange(inboxId: string): void {
  rounds += 1
  latest.value = { inboxId, round: rounds }
}

/** A burst of mail is one change. */
const GATHER_MS = 250

/** Calls some time after the inbox, or with null any, has changed. */
export function useMailChanges(inboxId: string | null, changed: () => void): void {
  const gather = useGathered(changed, GATHER_MS)
  useLive((event) => {
    if (event.message !== undefined && (inboxId === null || event.inbox_id === inboxId)) gather()
  })
  useEffect(() => {
    const firstRound = rounds
    return effect(() => {
      const change = latest.value
      if (change === null || change.round <= firstRound) return
      if (inboxId === null || change.inboxId === inboxId) gather()
    })
  }, [inboxId])
}
