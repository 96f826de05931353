import { type PruneHtml, textFromHtml } from '@mailroom/mail/html/text.ts'
import { RemovalTally, stripInvisible } from '#view/removal.ts'
import { mayHide, removeHidden } from './hidden.ts'

/**
 * Converts HTML to plain text without hidden content. HTML beyond a bound of `readHtml` only loses
 * its tags. Never throws; too slow for the main thread.
 */
export function visibleTextOf(html: string): string {
  return stripInvisible(textFromHtml(html, pruneHidden(html)), new RemovalTally())
}

export function pruneHidden(html: string): PruneHtml {
  return (tree) => {
    if (mayHide(html)) removeHidden(tree, () => {})
  }
}
