// What one process at a time does for all that share a database: who has it there, and who has it where
// there is only one.

import type { Settings } from '#config/settings.ts'
import { type Duties, type DutyName, openOwnDuties, openSharedDuties } from '#queue/duties.ts'
import type { Deps } from './deps.ts'

const SHARED: readonly DutyName[] = ['hourly figures', 'key rotation', 'retention', 'search index']

/** `instance` names the service over its lives: the next takes up at once what this one had. */
export function openDuties(
  deps: Deps,
  { databaseUrl, blobStore }: Pick<Settings, 'databaseUrl' | 'blobStore'>,
  instance: string,
): Duties {
  if (databaseUrl === null) return openOwnDuties()
  // Each process sees its own folder only, which may be another machine's.
  const names: readonly DutyName[] = blobStore === 'disk' ? SHARED : [...SHARED, 'blob sweep']
  return openSharedDuties(deps, { worker: `${instance} ${deps.makeId('job')}`, names })
}
