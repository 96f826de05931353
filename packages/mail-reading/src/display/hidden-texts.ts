// Lists the hidden text of a message, grouped by how it is hidden, for a person who asks for it.

import { escapeHtml } from '@mailroom/mail/html/safe-html.ts'
import {
  attributeOf,
  type HtmlNode,
  isElement,
  isText,
  readHtml,
} from '@mailroom/mail/html/tree.ts'
import { replaceUnseen, shownText } from '@mailroom/mail/unseen.ts'
import { hiddenLength, removeHidden } from '#html/hidden.ts'
import { drawnValue } from '#html/undrawn.ts'
import { unsaidLength } from '#html/unsaid-text.ts'
import { kindWords, type RemovalKind } from '#view/removal.ts'

/**
 * The hidden text as the content of a body, without any element of the message. Null for HTML that
 * `readHtml` refuses to parse. Too slow for the main thread.
 */
export function hiddenTexts({ html, texts }: { html: string; texts: readonly string[] }) {
  const tree = readHtml(html)
  if (tree === null) return null
  const sections: string[] = []
  const add = (kind: RemovalKind, text: string) => {
    const words = escapeHtml(kindWords(kind))
    sections.push(
      `<h2>${words}</h2><pre style="white-space:pre-wrap">${escapeHtml(shownText(text.trim()))}</pre>`,
    )
  }
  removeHidden(tree, (kind, node) => {
    if (kind !== 'comment' && hiddenLength(node) > 0) add(kind, textOf(node))
  })
  const said = texts.at(-1) ?? ''
  if (unsaidLength(said, html) > 0) add('text-part', said)
  for (const text of [...texts, textOf(tree)]) {
    replaceUnseen(text, (run) => {
      const letters = run.replace(/[^\u{e0020}-\u{e007e}]/gu, '')
      const codes = Array.from(letters, (letter) => (letter.codePointAt(0) ?? 0) - 0xe0000)
      if (codes.length > 0) add('tag', codes.map((code) => String.fromCharCode(code)).join(''))
      return run
    })
  }
  return sections.join('')
}

function textOf(node: HtmlNode | Parameters<typeof removeHidden>[0]): string {
  const pieces: string[] = []
  const visit = (one: HtmlNode | Parameters<typeof removeHidden>[0]): void => {
    if ('value' in one && isText(one)) pieces.push(one.value)
    if (!('childNodes' in one)) return
    if ('tagName' in one && isElement(one)) {
      pieces.push(attributeOf(one, 'alt') ?? drawnValue(one) ?? '')
    }
    for (const child of one.childNodes) visit(child)
  }
  visit(node)
  return pieces.join('')
}
