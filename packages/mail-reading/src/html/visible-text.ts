import { type PruneHtml, textFromHtml } from '@mailroom/mail/html/text.ts'
import { RemovalTally, stripInvisible } from '#view/removal.ts'
import { mayHide, removeHidden } from './hidden.ts'

/**
 * Converts HTML to plain text without hidden content. If the HTML exceeds a bound of `readHtml`,
 * only its tags are removed. Never throws. Too slow for the main thread.
 */
export function visibleTextOf(html: string): string {
  return stripInvisible(textFromHtml(html, pruneHidden(html)), new RemovalTally())
}

export function pruneHidden(html: string): PruneHtml {
  return (tree) => {
    if (mayHide(html)) removeHidden(tree, () => {})
  }
}
