// The status of a domain and its records.

import type { Domain, DomainRecord } from '@mailroom/sdk'
import { Badge, type Tone } from './notice.tsx'

type Word = { tone: Tone; word: string; sentence: string }

export const domainStates: Record<Domain['status'], Word> = {
  pending: {
    tone: 'info',
    word: 'Pending',
    sentence: 'The domain is verified as soon as the required DNS records are published.',
  },
  verified: {
    tone: 'good',
    word: 'Verified',
    sentence: 'You can create inboxes on this domain, and their mail is signed with its DKIM key.',
  },
  degraded: {
    tone: 'warn',
    word: 'Degraded',
    sentence:
      'The last check found wrong records. Fix them within 72 hours of the first failure, or sending stops.',
  },
  failed: {
    tone: 'bad',
    word: 'Failed',
    sentence:
      'Sending and new inboxes are stopped until the domain is verified again. Mail is still received.',
  },
}

const recordStates: Record<DomainRecord['status'], { tone: Tone; word: string }> = {
  missing: { tone: 'calm', word: 'Not found yet' },
  invalid: { tone: 'warn', word: 'Another value found' },
  valid: { tone: 'good', word: 'Found' },
}

export function DomainBadge({ status }: { status: Domain['status'] }) {
  const { tone, word } = domainStates[status]
  return <Badge tone={tone}>{word}</Badge>
}

export function RecordBadge({
  status,
  isChecked,
}: {
  status: DomainRecord['status']
  isChecked: boolean
}) {
  const { tone, word } = recordStates[status]
  return <Badge tone={tone}>{isChecked ? word : 'Not checked yet'}</Badge>
}
