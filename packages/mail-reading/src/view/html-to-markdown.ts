// The HTML of a mail as Markdown for a reader who sees what a person sees of it. The only file that
// knows the libraries of trees; they are loaded with the first HTML.

import { HTML_DEPTH_MAX, HTML_LENGTH_MAX, HTML_TAGS_MAX } from '@mailroom/mail/html/tree.ts'
import type { Root } from 'hast'
import { type Cleaning, cleanTree } from './clean-tree.ts'
import type { EarlierTexts } from './earlier-texts.ts'
import { foldQuotes } from './fold-quotes.ts'
import type { LinkShortener } from './link-text.ts'
import type { RemovalTally } from './removal.ts'
import { removeHidden } from './remove-hidden.ts'
import { surveyMarkup } from './survey-markup.ts'

/** Of one tag: a parser compares each with all before it. */
const VIEW_ATTRIBUTES_MAX = 200

export type Markdown = {
  /** A quote is a line of its number of lines between FOLD_OPENING and FOLD_CLOSING. */
  readonly text: string
  readonly pixels: number
  readonly pictures: number
}

/**
 * Null for HTML that no tree should be made of: longer than HTML_LENGTH_MAX without its data: URIs, of
 * more than HTML_TAGS_MAX tags, deeper than HTML_DEPTH_MAX. Never rejects. Takes up to a second and
 * much memory: not for the main thread.
 */
export async function htmlToMarkdown(
  html: string,
  {
    links,
    tally,
    earlier,
  }: {
    readonly links: LinkShortener
    readonly tally: RemovalTally
    readonly earlier: EarlierTexts
  },
): Promise<Markdown | null> {
  const lean = withoutData(html)
  if (lean.length > HTML_LENGTH_MAX) return null
  const { tags, depth, attributes } = surveyMarkup(lean)
  if (tags > HTML_TAGS_MAX || depth > HTML_DEPTH_MAX || attributes > VIEW_ATTRIBUTES_MAX)
    return null
  try {
    const libraries = await loadViewLibraries()
    const tree = libraries.fromHtml(lean)
    if (isDeep(tree)) return null
    removeHidden(tree, libraries, tally)
    foldQuotes(tree, earlier)
    const cleaning: Cleaning = { links, tally, pixels: 0, pictures: 0, indents: 0 }
    cleanTree(tree, cleaning)
    const text = tidy(libraries.write(tree))
    return { text, pixels: cleaning.pixels, pictures: cleaning.pictures }
  } catch {
    return null
  }
}

/** A tree may come out deeper than its tags look: it closes what they leave open. */
const TREE_DEPTH_MAX = 4 * HTML_DEPTH_MAX

function isDeep(tree: Root): boolean {
  let level: Root['children'] = tree.children
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > TREE_DEPTH_MAX) return true
    level = level.flatMap((node) => ('children' in node ? node.children : []))
  }
  return false
}

/** The octets of data: URIs say nothing: their number stands for them. */
function withoutData(html: string): string {
  if (!html.includes('base64,')) return html
  return html.replace(/(;base64,)([\w+/=%\s]{200,})/gi, (_, head: string, data: string) => {
    return `${head}length=${data.length}`
  })
}

const load = async () => {
  const [{ fromHtml }, { toMdast }, { toMarkdown }, { gfmToMarkdown }, { selectAll }, css] =
    await Promise.all([
      import('hast-util-from-html'),
      import('hast-util-to-mdast'),
      import('mdast-util-to-markdown'),
      import('mdast-util-gfm'),
      import('hast-util-select'),
      import('css-tree'),
    ])
  return { fromHtml, toMdast, toMarkdown, gfmToMarkdown, selectAll, parse: css.parse }
}
type Libraries = Awaited<ReturnType<typeof load>> & { write(tree: Root): string }

let loaded: Promise<Libraries> | null = null

/** Loads what Markdown is made with, once; takes some 300 ms. */
export function loadViewLibraries(): Promise<Libraries> {
  loaded ??= load().then((libraries) => ({ ...libraries, write: (tree) => write(tree, libraries) }))
  return loaded
}

function write(
  tree: Root,
  { toMdast, toMarkdown, gfmToMarkdown }: Omit<Libraries, 'write'>,
): string {
  const extensions = gfmToMarkdown({ tablePipeAlign: false }).extensions ?? []
  // Of GFM tables and deletions; bare addresses need no escapes here.
  const used = extensions.filter((one) => {
    return one.handlers != null && ('table' in one.handlers || 'delete' in one.handlers)
  })
  return toMarkdown(toMdast(tree, { document: true }), {
    bullet: '-',
    rule: '-',
    extensions: used,
    handlers: {
      // Nothing is escaped: what is read is this text, never what another program makes of it.
      text: (node: { value: string }, _parent, state) =>
        state.stack.includes('tableCell') ? node.value.replaceAll('|', '\\|') : node.value,
      break: () => '\n',
      strong: (node, _parent, state, info) => marked('**', state.containerPhrasing(node, info)),
      emphasis: (node, _parent, state, info) => marked('*', state.containerPhrasing(node, info)),
      link: (node, _parent, state, info) => {
        const text = state.containerPhrasing(node, { ...info, before: '[', after: ']' })
        return `[${text.trim()}](${node.url})`
      },
    },
  })
}

/** Blanks stay outside the marks, and marks do not stand within their own kind. */
function marked(mark: string, text: string): string {
  const content = text.trim()
  if (content === '' || content.includes(mark)) return text
  const start = text.indexOf(content)
  return `${text.slice(0, start)}${mark}${content}${mark}${text.slice(start + content.length)}`
}

function tidy(text: string): string {
  return text
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
