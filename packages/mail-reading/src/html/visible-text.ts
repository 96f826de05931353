import { textFromHtml } from '@mailroom/mail/html/text.ts'
import { RemovalTally, stripInvisible } from '#view/removal.ts'
import { mayHide, removeHidden } from './hidden.ts'

/**
 * HTML as plain text, without what a person does not see. HTML beyond a bound of `readHtml` only loses its tags.
 * Never throws; not for the main thread.
 */
export function visibleTextOf(html: string): string {
  const text = mayHide(html)
    ? textFromHtml(html, (tree) => removeHidden(tree, () => {}))
    : textFromHtml(html)
  return stripInvisible(text, new RemovalTally())
}
