// What kind of mail a message is, as its row says it.

import type { Message as MessageShape } from '@mailroom/contract/messages.ts'
import type { MailKind } from '@mailroom/mail/mail-kind.ts'
import type { CategoryReason, MailCategory } from '@mailroom/mail/mime/parsed-message.ts'
import type { Row } from '#store/tables.ts'

export type KindFields = Pick<
  MessageShape,
  'category' | 'categoryReasons' | 'autoReplyable' | 'verdict' | 'spamScore'
>

/** What the scanners of arriving mail say. */
export type ScanResult = {
  /** Null when one of them gave no answer, and none says `spam` or `malicious`. */
  readonly verdict: KindFields['verdict']
  readonly spamScore: number | null
  readonly reasons: readonly CategoryReason[]
}

/** Without scanners nothing says otherwise. */
export const NOT_SCANNED: ScanResult = { verdict: 'clean', spamScore: null, reasons: [] }

/** The columns of a received message. */
export function kindColumns(kind: MailKind, scanned: ScanResult) {
  const isHarmful = scanned.verdict === 'spam' || scanned.verdict === 'malicious'
  const category = isHarmful ? scanned.verdict : kind.category
  const judgement: Judgement = {
    reasons: [...kind.reasons, ...scanned.reasons],
    autoReplyable: kind.autoReplyable && !isHarmful,
    verdict: category === 'spam' || category === 'malicious' ? category : scanned.verdict,
    spamScore: scanned.spamScore,
  }
  return { category, judgement: JSON.stringify(judgement) }
}

type Judgement = Omit<MailKind, 'category'> & Pick<KindFields, 'verdict' | 'spamScore'>

/** Null on sent messages. */
export function categoryOfRow(
  row: Pick<Row<'messages'>, 'direction' | 'category' | 'automatic_reason' | 'from_addr'>,
): MailCategory | null {
  if (row.direction === 'outbound') return null
  return (row.category as MailCategory | null) ?? categoryOfOld(row)
}

/** A message that a program of before received has what follows from `automatic_reason`. */
export function kindOfRow(
  row: Pick<
    Row<'messages'>,
    'direction' | 'category' | 'judgement' | 'automatic_reason' | 'from_addr'
  >,
): KindFields {
  if (row.direction === 'outbound') {
    return {
      category: null,
      categoryReasons: [],
      autoReplyable: false,
      verdict: null,
      spamScore: null,
    }
  }
  const category = categoryOfRow(row)
  if (row.judgement !== null) {
    const { reasons, ...judgement } = JSON.parse(row.judgement) as Judgement
    return { category, categoryReasons: [...reasons], ...judgement }
  }
  const reason = row.automatic_reason
  return {
    category,
    categoryReasons: reason === null ? [] : [{ rule: reason, detail: '' }],
    // What else its header said is not stored: an answer might loop.
    autoReplyable: false,
    verdict: 'clean',
    spamScore: null,
  }
}

/** The category of a message that was received without one. */
function categoryOfOld({
  automatic_reason,
  from_addr,
}: Pick<Row<'messages'>, 'automatic_reason' | 'from_addr'>): MailCategory {
  switch (automatic_reason) {
    case null:
    case 'auto-response-suppress':
      return 'personal'
    case 'list':
      return 'marketing'
    case 'null-sender':
    case 'auto-submitted':
      return /(?:^|<)(?:mailer-daemon|postmaster)@/i.test(from_addr) ? 'bounce' : 'automated'
    default:
      return 'automated'
  }
}
