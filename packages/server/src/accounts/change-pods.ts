// Making, changing and removing pods.

import type { Clock } from '#platform/clock.ts'
import type { MakeId } from '#platform/ids.ts'
import { notFound, problem } from '#platform/problem.ts'
import type { Db } from '#schema/tables.ts'
import type { Pod } from './pod.ts'
import { changePod, insertPod, type PodRefusal, removePod } from './pod-rows.ts'

/** A new pod. `client_id_taken` when another pod of the account has the `clientId`. */
export async function createPod(
  deps: { db: Db; clock: Clock; makeId: MakeId },
  input: { accountId: string; clientId: string | null; name: string | null },
): Promise<Pod> {
  return podOf(
    await deps.db.write(insertPod, {
      ...input,
      podId: deps.makeId('pod'),
      nowMs: deps.clock.now(),
    }),
  )
}

/** Changes what is given; null clears. `pod` is an id or a `clientId`. */
export async function updatePod(
  deps: { db: Db },
  input: { accountId: string; pod: string; clientId?: string | null; name?: string | null },
): Promise<Pod> {
  return podOf(await deps.db.write(changePod, input))
}

/** Removes an empty pod; `default_pod`, `pod_not_empty` or `pod_has_domains` when guarded. */
export async function deletePod(
  deps: { db: Db },
  input: { accountId: string; pod: string },
): Promise<void> {
  const outcome = await deps.db.write(removePod, input)
  if (outcome === 'not_found') throw notFound()
  if (outcome !== 'deleted') throw problem(outcome)
}

function podOf(outcome: Pod | PodRefusal): Pod {
  if (outcome === 'not_found') throw notFound()
  if (outcome === 'client_id_taken') throw problem('client_id_taken')
  return outcome
}
