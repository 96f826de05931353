// Names that mean the same everywhere and are not asked for (RFC 6761 §6.3 and §6.4).

import type { Answer, QuestionType, RecordOf } from './answer.ts'

/** What stands at the name; null for every name that DNS is to be asked for. `name` is in lower case. */
export function answerSpecial<Type extends QuestionType>(
  name: string,
  type: Type,
): Answer<RecordOf[Type]> | null {
  const top = name.slice(name.lastIndexOf('.') + 1)
  if (top === 'invalid') return { kind: 'none', isNameMissing: true, ttlMs: FOREVER_MS }
  if (top !== 'localhost') return null
  const records = (LOOPBACK[type] ?? []) as RecordOf[Type][]
  if (records.length === 0) return { kind: 'none', isNameMissing: false, ttlMs: FOREVER_MS }
  return {
    kind: 'found',
    records: [...records],
    ttlMs: FOREVER_MS,
    isAuthenticated: false,
    canonicalName: name,
  }
}

const FOREVER_MS = Number.POSITIVE_INFINITY

const LOOPBACK: { readonly [Type in QuestionType]?: readonly string[] } = {
  A: ['127.0.0.1'],
  AAAA: ['::1'],
}
