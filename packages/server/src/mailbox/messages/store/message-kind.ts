import type { Message as MessageShape } from '@mailroom/contract/messages.ts'
import type { MailKind } from '@mailroom/mail/mail-kind.ts'
import type { CategoryReason, MailCategory } from '@mailroom/mail/mime/parsed-message.ts'
import type { Row } from '#store/tables.ts'

export type KindFields = Pick<
  MessageShape,
  'category' | 'categoryReasons' | 'autoReplyable' | 'verdict' | 'spamScore'
>

export type ScanResult = {
  /** Null when a scanner failed and no other found `spam` or `malicious`. */
  readonly verdict: KindFields['verdict']
  readonly spamScore: number | null
  readonly reasons: readonly CategoryReason[]
}

export const NOT_SCANNED: ScanResult = { verdict: 'clean', spamScore: null, reasons: [] }

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

export function categoryOfRow(
  row: Pick<Row<'messages'>, 'direction' | 'category' | 'automatic_reason' | 'from_addr'>,
): MailCategory | null {
  if (row.direction === 'outbound') return null
  return (row.category as MailCategory | null) ?? categoryOfOld(row)
}

/** A row without a judgement is judged by `automatic_reason`. */
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
    // The rest of the header is unknown, and an automatic reply might loop.
    autoReplyable: false,
    verdict: 'clean',
    spamScore: null,
  }
}

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
