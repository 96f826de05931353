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
    summary: 'Get mail statistics.',
    notes:
      'Messages received, sent and failed, and how long sends took. Counts are kept per hour for 400 days and lag by a few seconds; asOf says up to when.',
    auth: 'key',
    isRateLimited: true,
    query: Type.Object({
      range: Type.Optional(
        oneOf(statsRanges, 'Figures by hour for 24h, by three hours for 7d, by day (UTC) for 30d.'),
      ),
    }),
    success: { status: 200, description: 'The figures.', schema: Stats },
    errors: [],
  },
} as const satisfies Record<string, Operation>
