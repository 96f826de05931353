// A compact index of the addresses in a message, stored with every message: the letters around each
// at sign, and the words around a domain introduced by a word such as `host`. A search of the index
// finds every message in which `findMentions` finds an address, and few other messages.

import { type MailContent, partsOf } from '#content/parts.ts'
import { readingsOf } from './readings.ts'
import {
  APART_LENGTH_MAX,
  APART_WORDS,
  AT_SIGNS,
  DOMAINS,
  folded,
  lettersOf,
  NO_LETTERS,
  reversed,
  splitAddress,
} from './spelling.ts'

/** Number of letters kept: the last ones of a name and the first ones of a domain. */
const NAME_LENGTH = 24
const DOMAIN_LENGTH = 32
/** Characters that contain NAME_LENGTH letters, with signs and words for signs between them. */
const BEFORE_LENGTH = 100
const AFTER_LENGTH = 160
/**
 * Room for some thousand addresses. If the index is larger, the message itself must be searched.
 */
const INDEX_LENGTH_MAX = 256 * 1024

/**
 * The index is '' for content without mentions, and null if the content itself must be searched.
 */
export function indexMentions(content: MailContent): string | null {
  const parts = partsOf(content)
  if (parts === null) return null
  const lines = new Set<string>()
  let length = 0
  for (const part of parts) {
    for (const { text, isSource } of readingsOf(part)) {
      for (const line of linesOf(folded(text), isSource)) {
        if (lines.has(line)) continue
        lines.add(line)
        length += line.length + 1
        if (length > INDEX_LENGTH_MAX) return null
      }
    }
  }
  return [...lines].join('\n')
}

/** Matches CSS at-rules, of which a style sheet has dozens. */
const AT_RULE =
  /@(?:media|font-face|import|page|list|charset|supports|namespace|layer|container|-?[a-z]{0,6}-?keyframes)(?=[ {])/y

function* linesOf(text: string, isSource: boolean): Generator<string> {
  for (const { 0: sign, index } of text.matchAll(AT_SIGNS)) {
    AT_RULE.lastIndex = index
    if (isSource && AT_RULE.test(text)) continue
    const before = text.slice(Math.max(0, index - BEFORE_LENGTH), index)
    const end = index + sign.length
    const domain = lettersOf(text.slice(end, end + AFTER_LENGTH)).slice(0, DOMAIN_LENGTH)
    if (domain === '') continue
    for (const name of new Set([before, before.replace(TAG, '')].map(lettersOf))) {
      if (name !== '') yield `${name.slice(-NAME_LENGTH)}@${domain}`
    }
  }
  for (const { index } of text.matchAll(APART_WORDS)) {
    const around = text.slice(Math.max(0, index - AROUND_LENGTH), index + AROUND_LENGTH)
    const domains = [...around.matchAll(DOMAINS)].map(([domain]) => lettersOf(domain))
    if (domains.length === 0) continue
    const words = [...new Set(around.split(NO_LETTERS))].join(' ')
    for (const domain of domains) yield `/${domain.slice(0, DOMAIN_LENGTH)} ${words} `
  }
}

/** Matches a tag from its plus sign on. */
const TAG = /[ ]?(?:\+|(?<![\p{L}\p{N}])plus(?![\p{L}\p{N}]))[^@+]{0,80}$/u
/** Characters around an introducing word that contain a typical name and domain. */
const AROUND_LENGTH = 2 * APART_LENGTH_MAX

/** If an index may mention the address, it contains all pieces of one of these lists. */
export function indexPiecesOf(address: string): string[][] {
  const { local, domain, unicode } = splitAddress(address)
  const lists = [...new Set([domain, unicode])].flatMap((host) => {
    const line = (name: string, from: string) =>
      `${lettersOf(name).slice(-NAME_LENGTH)}@${lettersOf(from).slice(0, DOMAIN_LENGTH)}`
    const [word = ''] = local.split(NO_LETTERS).filter((one) => one !== '')
    return [
      [line(local, host)],
      [line(reversed(host), reversed(local))],
      [`/${lettersOf(host).slice(0, DOMAIN_LENGTH)}`, ` ${word} `],
    ]
  })
  return lists
}
