// Operations on figures.

import { Type } from '#schema.ts'
import { Stats } from '#shapes/stats.ts'
import { oneOf } from '#shapes/text.ts'
import { statsRanges } from '#vocabulary.ts'
import type { Operation } from './operation.ts'

export const statsOperations = {
  'stats.get': {
    method: 'GET',
    path: '/v1/stats',
    tag: 'Account',
    summary: 'Read how much mail came, went and failed, and how long sends took.',
    notes:
      'Counted by the hour, in the background and a few seconds behind; asOf tells how far. Figures are kept for 400 days.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      range: Type.Optional(
        oneOf(
          statsRanges,
          'How far back: 24h by the hour, 7d by three hours, 30d by the day (UTC).',
        ),
      ),
    }),
    success: { status: 200, description: 'The figures.', schema: Stats },
    errors: [],
  },
} as const satisfies Record<string, Operation>
