import {
  attributeOf,
  type HtmlNode,
  type HtmlParent,
  isElement,
  isText,
} from '@mailroom/mail/html/tree.ts'

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
export function textLines(node: HtmlNode, linesMax = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = []
  let line = ''
  const end = () => {
    const plain = line.replace(/\s+/g, ' ').trim()
    if (plain !== '' && lines.length < linesMax) lines.push(plain)
    line = ''
  }
  const visit = (inner: HtmlNode): void => {
    if (lines.length >= linesMax) return
    if (isText(inner)) line += inner.value
    if (!isElement(inner)) return
    const isOwnLine = isBlock(inner.tagName)
    if (isOwnLine) end()
    for (const child of inner.childNodes) visit(child)
    if (isOwnLine) end()
  }
  visit(node)
  end()
  return lines
}

/** All of its text on one line, `lengthMax` characters of it at most. */
export function textOf(node: HtmlNode | HtmlParent, lengthMax: number): string {
  let text = ''
  const visit = (inner: HtmlNode | HtmlParent): void => {
    if (text.length > lengthMax) return
    if (isText(inner)) text += inner.value
    else if ('childNodes' in inner) for (const child of inner.childNodes) visit(child)
  }
  visit(node)
  return text.slice(0, lengthMax).replace(/\s+/g, ' ').trim()
}

export function classesOf(node: HtmlNode): readonly string[] {
  return isElement(node) ? (attributeOf(node, 'class')?.split(/\s+/) ?? []) : []
}
