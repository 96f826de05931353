// The tokenizer of css-tree alone, which loads without the tables of the language; the library's types
// describe only all of it.

declare module 'css-tree/tokenizer' {
  /** Calls with the number of each token's type and where it stands, in order and without a gap. */
  export function tokenize(
    source: string,
    onToken: (type: number, start: number, end: number) => void,
  ): void
  export const tokenTypes: Readonly<Record<string, number>>
}
