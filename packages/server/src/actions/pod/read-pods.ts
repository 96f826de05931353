// Reading pods.

import type { Deps } from '#actions/deps.ts'
import type { Page } from '#actions/page.ts'
import type { Pod } from '#model/pod.ts'
import { notFound } from '#model/problem.ts'
import * as store from '#store/pod.ts'

/** The default pod first, then newest first. */
export async function listPods(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string } & Page,
): Promise<{ pods: Pod[]; total: number }> {
  return store.listPods(deps.db, input)
}

/** The pod with this id or `clientId`; `not_found` when the account has none. */
export async function getPod(
  deps: Pick<Deps, 'db'>,
  input: { accountId: string; pod: string },
): Promise<Pod> {
  const pod = await store.findPod(deps.db, input.accountId, input.pod)
  if (pod === null) throw notFound()
  return pod
}
