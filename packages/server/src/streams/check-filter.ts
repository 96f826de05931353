// What a reader of events asks for, checked against what the account has, before anything is told.

import { type EventKind, eventKinds } from '@mailroom/contract/vocabulary.ts'
import { findPodIds } from '#accounts/pod-rows.ts'
import type { AskedFilter, CheckedFilter } from '#events/event-filter.ts'
import { findInboxIds } from '#inboxes/inbox-rows.ts'
import { isIdOf } from '#platform/ids.ts'
import type { Db } from '#schema/tables.ts'

export const UNKNOWN_KIND = 'is not an event type'

/** The filter, with the ids of pods whatever they were called, or the first entry that is wrong. */
export async function checkFilter(deps: { db: Db }, asked: AskedFilter): Promise<CheckedFilter> {
  const { accountId, kinds, podIds, inboxIds } = asked
  const known = kinds.filter(isKind)
  // An empty list would let every kind through, which nobody asked for.
  if (known.length === 0 && kinds.length > 0) {
    return mistake('kinds', { list: kinds, index: 0, message: UNKNOWN_KIND })
  }
  // PostgreSQL takes no NUL in a text.
  const podNames = podIds.filter((pod) => !pod.includes('\0'))
  const pods = podNames.length === 0 ? new Map() : await findPodIds(deps.db, accountId, podNames)
  const foreignPod = podIds.findIndex((pod) => !pods.has(pod))
  if (foreignPod >= 0) {
    return mistake('podIds', {
      list: podIds,
      index: foreignPod,
      message: 'is not a pod of this account',
    })
  }
  const formed = inboxIds.filter((inbox) => isIdOf('inb', inbox))
  const inboxes = formed.length === 0 ? new Set() : await findInboxIds(deps.db, accountId, formed)
  const foreignInbox = inboxIds.findIndex((inbox) => !inboxes.has(inbox))
  if (foreignInbox >= 0) {
    return mistake('inboxIds', {
      list: inboxIds,
      index: foreignInbox,
      message: 'is not an inbox of this account',
    })
  }
  return {
    kind: 'filter',
    filter: {
      kinds: [...new Set(known)],
      podIds: [...new Set(podIds.flatMap((pod) => pods.get(pod) ?? []))],
      inboxIds: [...new Set(inboxIds)],
    },
    unknownKinds: [...new Set(kinds.filter((kind) => !isKind(kind)))],
  }
}

function isKind(text: string): text is EventKind {
  return (eventKinds as readonly string[]).includes(text)
}

function mistake(
  field: 'kinds' | 'podIds' | 'inboxIds',
  { list, index, message }: { list: readonly string[]; index: number; message: string },
): CheckedFilter {
  return { kind: 'mistake', field, index, value: list[index] ?? '', message }
}
