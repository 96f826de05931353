import { type PruneHtml, textFromHtml } from '@mailroom/mail/html/text.ts'
import { RemovalTally, stripInvisible } from '#view/removal.ts'
import { mayHide, removeHidden } from './hidden.ts'

/**
 * HTML as plain text, without what a person does not see. HTML beyond a bound of `readHtml` only loses its tags.
 * Never throws; not for the main thread.
 */
export function visibleTextOf(html: string): string {
  return stripInvisible(textFromHtml(html, pruneHidden(html)), new RemovalTally())
}

/** Removes from the tree of `html` what a person does not see. */
export function pruneHidden(html: string): PruneHtml {
  return (tree) => {
    if (mayHide(html)) removeHidden(tree, () => {})
  }
}
