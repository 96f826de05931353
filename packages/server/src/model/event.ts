// What happened, in the words of the event log.

import type { EventKind } from '@mailroom/contract/vocabulary.ts'

export type { EventKind }
