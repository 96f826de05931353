// What a pod is called.

import type { Pod } from '@mailroom/sdk'

export function podName({ name, clientId, isDefault, id }: Pod): string {
  return name ?? clientId ?? (isDefault ? 'Default' : id)
}
