// What is found in a message for a program that acts on it.

export type LinkKind = 'verify' | 'magic' | 'reset' | 'unsubscribe' | 'other'

export type FoundCode = {
  /** As it stands in the message. */
  readonly value: string
  /** From 0 to 1, two decimals. */
  readonly confidence: number
  /** The line that it stands in, or as much around it as EXTRACTED_SOURCE_LENGTH_MAX allows. */
  readonly source: string
}

export type FoundLink = { readonly url: string; readonly kind: LinkKind }

export type Extracted = { readonly codes: FoundCode[]; readonly links: FoundLink[] }
