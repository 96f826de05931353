// What a reader may miss who looks at a page of a held message's HTML, and its recipients may get.

import type { ReviewDisplay } from '@mailroom/contract/reviews.ts'
import { describeRemovals } from '@mailroom/mail-reading/view/removal.ts'
import type { Parser } from '#platform/workers/parser.ts'

export async function readDisplay(
  { parser }: { parser: Parser },
  html: string,
): Promise<ReviewDisplay> {
  if (html === '') return { isHtmlWhole: true, blockedImages: 0, hidden: null }
  const shown = await parser.show({ html, showsRemote: false, findsHidden: true })
  return {
    isHtmlWhole: shown?.isWhole ?? false,
    blockedImages: shown?.blockedCount ?? 0,
    hidden: shown === null || shown.hidden.length === 0 ? null : describeRemovals(shown.hidden),
  }
}
