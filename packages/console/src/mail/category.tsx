// Names for the kinds of mail.

import type { Message } from '@mailroom/sdk'
import { Badge, type Tone } from '#parts/notice.tsx'

export type Category = NonNullable<Message['category']>

const categories: Readonly<Record<Category, { tone: Tone; word: string }>> = {
  personal: { tone: 'calm', word: 'Personal' },
  automated: { tone: 'calm', word: 'Automatic' },
  marketing: { tone: 'calm', word: 'Marketing' },
  bounce: { tone: 'warn', word: 'Bounce' },
  spam: { tone: 'bad', word: 'Spam' },
  malicious: { tone: 'bad', word: 'Malicious' },
}

export const categoryChoices = Object.entries(categories).flatMap(([value, { word: text }]) =>
  isCategory(value) ? [{ value, text }] : [],
)

/** For a select; '' means any category. */
export const categoryOptions: readonly { value: string; text: string }[] = [
  { value: '', text: 'All mail' },
  ...categoryChoices,
]

export function isCategory(text: string): text is Category {
  return Object.hasOwn(categories, text)
}

export function categoryWord(category: Category): string {
  return categories[category].word
}

/** Renders nothing for personal mail, which is the usual kind. */
export function CategoryBadge({ category }: { category: Category | null }) {
  if (category === null || category === 'personal') return null
  const { tone, word } = categories[category]
  return <Badge tone={tone}>{word}</Badge>
}
