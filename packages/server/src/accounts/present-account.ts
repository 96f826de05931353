import type { Account as AccountShape } from '@mailroom/contract/shapes/account.ts'
import type { ApiKey as ApiKeyShape } from '@mailroom/contract/shapes/api-key.ts'
import type { Pod as PodShape } from '@mailroom/contract/shapes/pod.ts'
import { presentTime } from '#platform/clock.ts'
import type { Account } from './account.ts'
import type { Key } from './key.ts'
import type { Pod } from './pod.ts'

/** For operators. */
export function presentAccount(account: Account): AccountShape {
  const { id, name, plan, createdAtMs } = account
  return { id, name, plan, createdAt: presentTime(createdAtMs) }
}

/** Without the token, which is not kept. */
export function presentKey(key: Key): ApiKeyShape {
  const { id, name, tokenPrefix, last4, createdAtMs, lastUsedAtMs } = key
  return {
    id,
    name,
    tokenPrefix,
    last4,
    createdAt: presentTime(createdAtMs),
    lastUsedAt: lastUsedAtMs === null ? null : presentTime(lastUsedAtMs),
  }
}

export function presentPod(pod: Pod): PodShape {
  const { id, clientId, name, isDefault, createdAtMs } = pod
  return { id, clientId, name, isDefault, createdAt: presentTime(createdAtMs) }
}
