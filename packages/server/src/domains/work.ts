import type { Settings } from '#config/settings.ts'
import { rotateDueKeys } from '#domains/dkim/rotate-keys.ts'
import { HOUR_MS, SECOND_MS } from '#platform/units.ts'
import type { FeatureWork } from '#queue/background.ts'
import { checkDueDomains } from './check-domain.ts'

type WorkDeps = Parameters<typeof checkDueDomains>[0] & Parameters<typeof rotateDueKeys>[0]

export function domainWork(
  deps: WorkDeps,
  { dkimRotationDays: rotationDays, delivery }: Pick<Settings, 'dkimRotationDays' | 'delivery'>,
): FeatureWork {
  const schedule = { rotationDays, usesServiceKeys: delivery !== 'sandbox' }
  return {
    tasks: [
      {
        name: 'domains',
        everyMs: 10 * SECOND_MS,
        by: 'each process',
        run: (signal) => checkDueDomains(deps, signal),
      },
      {
        name: 'key rotation',
        everyMs: HOUR_MS,
        by: 'schedule',
        run: (signal) => rotateDueKeys(deps, schedule, signal),
      },
    ],
  }
}
