// The pages for developers, in one script that is loaded with the first of them.

import { EventsPage } from './events.tsx'
import { KeysPage } from './keys.tsx'
import { PairPage } from './pair.tsx'
import { SandboxPage } from './sandbox.tsx'
import { SettingsPage } from './settings.tsx'
import { WebhookPage } from './webhook.tsx'
import { WebhooksPage } from './webhooks.tsx'

export const developers = {
  EventsPage,
  KeysPage,
  PairPage,
  SandboxPage,
  SettingsPage,
  WebhookPage,
  WebhooksPage,
}
