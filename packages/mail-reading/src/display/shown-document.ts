import { escapeHtml, type Piece } from '@mailroom/mail/html/safe-html.ts'
import type { ImageReference } from './image-reference.ts'
import { type ShownHtml, shownHtml } from './shown-html.ts'

export type ShownSource = { readonly html: string; readonly showsRemote: boolean }

/** Null for HTML that cannot be shown. */
export function showSource({ html, showsRemote }: ShownSource): ShownHtml | null {
  return html === '' ? null : shownHtml(html, { showsRemote })
}

/** The page: of the HTML or, without any that can be shown, of the text. */
export function shownBody(shown: ShownHtml | null, text: string, addressOf: AddressOf): string {
  return shown === null ? shownText(text) : shownDocument(shown.pieces, addressOf)
}

/** Its address must hold nothing but letters, digits and `/ ? & = % . ~ _ -`; null leaves it empty. */
export type AddressOf = (image: ImageReference) => string | null

/** The whole page; light, for that is what mail is made for. */
export function shownDocument(
  pieces: readonly Piece<ImageReference>[],
  addressOf: AddressOf,
): string {
  const body = pieces.map((piece) =>
    typeof piece === 'string' ? piece : (addressOf(piece) ?? EMPTY_IMAGE),
  )
  return `${head('')}<body>${body.join('')}</body></html>\n`
}

/** A mail without HTML, as it was typed; what looks like an address on the web is a link. */
export function shownText(text: string): string {
  return `${head(TEXT_STYLE)}<body><pre>${linked(text)}</pre></body></html>\n`
}

/** An image of nothing, where an element must have one. */
const EMPTY_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='

const STYLE = `:root{color-scheme:light;background:#fff;color:#1a1a1a;overflow:auto}
body{margin:16px;font:14px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
img{max-width:100%}img:not([src]){display:inline-block;min-width:16px;min-height:16px;border:1px dashed #999;color:#555;font:12px/1.4 system-ui,sans-serif}`
const TEXT_STYLE = 'pre{margin:0;font:13px/1.55 ui-monospace,monospace;white-space:pre-wrap}'

function head(style: string): string {
  return `<!doctype html><html lang="und"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light"><title>Message</title><style>${STYLE}${style}</style></head>`
}

const WEB_ADDRESS = /https?:\/\/[^\s<>"'()[\]]{1,2000}/gi

function linked(text: string): string {
  const pieces: string[] = []
  let end = 0
  for (const { 0: found, index } of text.matchAll(WEB_ADDRESS)) {
    const url = found.replace(/[.,;:!?]{1,3}$/, '')
    pieces.push(escapeHtml(text.slice(end, index)))
    pieces.push(
      `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer nofollow">${escapeHtml(url)}</a>`,
    )
    end = index + url.length
  }
  return [...pieces, escapeHtml(text.slice(end))].join('')
}
