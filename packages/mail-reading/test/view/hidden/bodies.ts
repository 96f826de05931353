import { readTable } from '#test/table.ts'

export type HiddenCase = { readonly name: string; readonly html?: string; readonly text?: string }

const groups = readTable(new URL('bodies.txt', import.meta.url))

function bodiesOf(state: 'hidden' | 'shown'): HiddenCase[] {
  const rows = groups.filter(({ name }) => name.startsWith(state)).flatMap(({ rows }) => rows)
  return rows.map(([name = '', head = '', body = '']) => ({
    name: name === '' ? head + body : name,
    html: `<html><head>${head}</head><body><p>SEEN</p>${body}</body></html>`,
  }))
}

/** "MARKER" in tag characters of Unicode. */
const TAGS = '\u{e004d}\u{e0041}\u{e0052}\u{e004b}\u{e0045}\u{e0052}'

/** Bodies in which MARKER is invisible and SEEN is visible. */
export const UNSEEN: readonly HiddenCase[] = [
  ...bodiesOf('hidden'),
  {
    name: 'a rule with :not(:has())',
    html: '<style>p:not(:has(img)){display:none}</style><div>SEEN</div><p>MARKER</p>',
  },
  { name: 'tags of Unicode', html: `<p>SEEN</p><p>a${TAGS}b</p>` },
  { name: 'tags of Unicode in text', text: `SEEN\na${TAGS}b` },
]

/** Bodies in which both are visible. */
export const SHOWN: readonly HiddenCase[] = [
  ...bodiesOf('shown'),
  {
    name: 'zero-width spaces within a word of text',
    text: 'SEEN\nM\u200bA\u200cR\u2060K\ufeffER',
  },
  { name: 'controls of direction around a word', text: 'SEEN\n\u202eMARKER\u202c' },
  { name: 'selectors behind every letter', text: 'SEEN\nM\ufe00A\ufe01R\ufe0fK\u{e0100}ER' },
]
