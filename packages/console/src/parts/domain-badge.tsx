// How a domain and its records stand, in a word and in a sentence.

import type { Domain, DomainRecord } from '@mailroom/sdk'
import { Badge, type Tone } from './notice.tsx'

type Word = { tone: Tone; word: string; sentence: string }

export const domainStates: Record<Domain['status'], Word> = {
  pending: {
    tone: 'info',
    word: 'Pending',
    sentence: 'It is verified as soon as DNS has the records that are required.',
  },
  verified: {
    tone: 'good',
    word: 'Verified',
    sentence: 'Inboxes can be made on it, and what they send is signed for it.',
  },
  degraded: {
    tone: 'warn',
    word: 'Degraded',
    sentence:
      'The last check found records wrong. All goes on for 72 hours; mend them before those are over.',
  },
  failed: {
    tone: 'bad',
    word: 'Failed',
    sentence: 'Nothing is sent from it and no inbox is made on it until it is verified again.',
  },
}

const recordStates: Record<DomainRecord['status'], { tone: Tone; word: string }> = {
  missing: { tone: 'warn', word: 'Missing' },
  invalid: { tone: 'bad', word: 'Wrong' },
  valid: { tone: 'good', word: 'Right' },
}

export function DomainBadge({ status }: { status: Domain['status'] }) {
  const { tone, word } = domainStates[status]
  return <Badge tone={tone}>{word}</Badge>
}

export function RecordBadge({ status }: { status: DomainRecord['status'] }) {
  const { tone, word } = recordStates[status]
  return <Badge tone={tone}>{word}</Badge>
}
