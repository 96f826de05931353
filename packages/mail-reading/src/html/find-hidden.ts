// Counts the hidden characters of a message by kind.

import {
  attributeOf,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
} from '@mailroom/mail/html/tree.ts'
import { isCarrier, type RemovalKind, type RemovalTally, stripInvisible } from '#view/removal.ts'
import { hiddenLength, removeHidden } from './hidden.ts'

/** Like `removeHidden`, but counts the removed characters in `tally`. */
export function tallyHidden(
  tree: HtmlParent,
  tally: RemovalTally,
  onRemoved: (kind: RemovalKind, node: HtmlNode) => void = () => {},
): void {
  const unread = removeHidden(tree, (kind, node) => {
    tally.add(kind, hiddenLength(node))
    onRemoved(kind, node)
  })
  tally.add('unread-styles', unread)
}

/** Counts the invisible characters that can encode letters. */
export function tallyCarriers(text: string, tally: RemovalTally): void {
  stripInvisible(text, tally, isCarrier)
}

/** Like `tallyCarriers`, for the texts and picture descriptions of a tree. */
export function tallyCarriersWithin({ childNodes }: HtmlParent, tally: RemovalTally): void {
  for (const node of childNodes) {
    if (isText(node)) tallyCarriers(node.value, tally)
    if (!isElement(node)) continue
    tallyCarriers(attributeOf(node, 'alt') ?? '', tally)
    tallyCarriersWithin(node, tally)
  }
}
