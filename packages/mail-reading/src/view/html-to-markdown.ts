import { readHtml } from '@mailroom/mail/html/tree.ts'
import type { Root } from 'hast'
import { hiddenLength, removeHidden } from '#html/hidden.ts'
import { type Cleaning, cleanTree } from './clean-tree.ts'
import type { EarlierTexts } from './earlier-texts.ts'
import { foldQuotes } from './fold-quotes.ts'
import type { LinkShortener } from './link-text.ts'
import type { RemovalTally } from './removal.ts'

export type Markdown = {
  /** A quote is a line of its number of lines between FOLD_OPENING and FOLD_CLOSING. */
  readonly text: string
  readonly pixels: number
  readonly pictures: number
}

/**
 * Null for HTML that is not parsed: beyond a bound of `readHtml` without its data: URIs. Never rejects.
 * Takes up to a second and much memory: not for the main thread.
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
  const tree = readHtml(withoutData(html))
  if (tree === null) return null
  try {
    const libraries = await loadViewLibraries()
    removeHidden(tree, (kind, node) => tally.add(kind, hiddenLength(node)))
    foldQuotes(tree, earlier)
    const cleaning: Cleaning = { links, tally, pixels: 0, pictures: 0, indents: 0 }
    const text = tidy(libraries.write(cleanTree(tree, cleaning)))
    return { text, pixels: cleaning.pixels, pictures: cleaning.pictures }
  } catch {
    return null
  }
}

/** The octets of data: URIs say nothing: their number stands for them. */
function withoutData(html: string): string {
  if (!html.includes('base64,')) return html
  return html.replace(/(;base64,)([\w+/=%\s]{200,})/gi, (_, head: string, data: string) => {
    return `${head}length=${data.length}`
  })
}

const load = async () => {
  const [{ toMdast }, { toMarkdown }, { gfmToMarkdown }] = await Promise.all([
    import('hast-util-to-mdast'),
    import('mdast-util-to-markdown'),
    import('mdast-util-gfm'),
  ])
  return { toMdast, toMarkdown, gfmToMarkdown }
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
