// What a process does without being asked, as its roles say.

import type { Settings } from '#config/settings.ts'
import { openWebhooks } from '#webhooks/open-webhooks.ts'
import type { Deps } from './deps.ts'
import { openDeliveryDoor, openTimeDoor } from './open-doors.ts'
import type { OpenStore } from './open-store.ts'

/** Starts at once; `close` lets what is under way end for up to `drainMs` milliseconds. */
export function openWork(deps: Deps, settings: Settings, { instance, signals }: OpenStore) {
  const { roles } = settings
  const background = openTimeDoor(deps, settings, instance)
  const dispatcher = roles.has('delivery') ? openDeliveryDoor(deps, settings, instance) : null
  const webhooks = roles.has('webhooks') ? openWebhooks(deps, instance) : null
  if (webhooks !== null) signals.listen(webhooks.wake)
  return {
    background,
    dispatcher,
    webhooks,
    close: (drainMs: number) =>
      Promise.all([
        background.close(),
        dispatcher?.close(drainMs),
        webhooks?.close(drainMs),
        deps.webhookTests.close(drainMs),
      ]),
  }
}
