// Reading pods.

import { notFound } from '#platform/problem.ts'
import type { Db, Page } from '#schema/tables.ts'
import type { Pod } from './pod.ts'
import * as store from './pod-rows.ts'

/** The default pod first, then newest first. */
export async function listPods(
  deps: { db: Db },
  input: { accountId: string } & Page,
): Promise<{ pods: Pod[]; total: number }> {
  return store.listPods(deps.db, input)
}

/** The pod with this id or `clientId`; `not_found` when the account has none. */
export async function getPod(
  deps: { db: Db },
  input: { accountId: string; pod: string },
): Promise<Pod> {
  const pod = await store.findPod(deps.db, input.accountId, input.pod)
  if (pod === null) throw notFound()
  return pod
}
