import type { Message as MessageShape } from '@mailroom/contract/messages.ts'
import type { MailKind } from '@mailroom/mail/mail-kind.ts'
import type { CategoryReason } from '@mailroom/mail/mime/parsed-message.ts'
import type { Row } from '#store/tables.ts'

export type KindFields = Pick<
  MessageShape,
  'category' | 'categoryReasons' | 'autoReplyable' | 'verdict' | 'spamScore'
>

export type ScanResult = {
  /** The verdict is null if a scanner failed and no other found `spam` or `malicious`. */
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

const UNJUDGED: KindFields = {
  category: null,
  categoryReasons: [],
  autoReplyable: false,
  verdict: null,
  spamScore: null,
}

/** The kind of a sent message is null. */
export function kindOfRow(row: Pick<Row<'messages'>, 'category' | 'judgement'>): KindFields {
  if (row.judgement === null) return UNJUDGED
  const { reasons, ...judgement } = JSON.parse(row.judgement) as Judgement
  return { category: row.category, categoryReasons: [...reasons], ...judgement }
}
