// The text of a part of a tree, in lines as far as its blocks make them.

import type { Nodes } from 'hast'

const BLOCKS = new Set(
  'address article blockquote br center dd div dl dt footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td th tr ul'.split(
    ' ',
  ),
)

/** Whether the element stands on lines of its own. */
export function isBlock(tagName: string): boolean {
  return BLOCKS.has(tagName)
}

/** Lines that are not blank, `linesMax` of them at most. */
export function textLines(node: Nodes, linesMax = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = []
  let line = ''
  const end = () => {
    const plain = line.replace(/\s+/g, ' ').trim()
    if (plain !== '' && lines.length < linesMax) lines.push(plain)
    line = ''
  }
  const visit = (inner: Nodes): void => {
    if (lines.length >= linesMax) return
    if (inner.type === 'text') line += inner.value
    if (!('children' in inner)) return
    const isOwnLine = inner.type === 'element' && isBlock(inner.tagName)
    if (isOwnLine) end()
    for (const child of inner.children) visit(child)
    if (isOwnLine) end()
  }
  visit(node)
  end()
  return lines
}

/** All of its text on one line, `lengthMax` characters of it at most. */
export function textOf(node: Nodes, lengthMax: number): string {
  let text = ''
  const visit = (inner: Nodes): void => {
    if (text.length > lengthMax) return
    if (inner.type === 'text') text += inner.value
    if ('children' in inner) for (const child of inner.children) visit(child)
  }
  visit(node)
  return text.slice(0, lengthMax).replace(/\s+/g, ' ').trim()
}
