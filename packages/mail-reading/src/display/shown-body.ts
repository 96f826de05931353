// The body of a message as a person is shown it, from either of its forms.

import { type AddressOf, shownDocument, shownText } from './shown-document.ts'
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
