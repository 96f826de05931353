// Types for the tokenizer of css-tree, which loads without the grammar tables. The library's own
// types cover only its main entry.

declare module 'css-tree/tokenizer' {
  /** Calls `onToken` with the type and range of each token, in order and without gaps. */
  export function tokenize(
    source: string,
    onToken: (type: number, start: number, end: number) => void,
  ): void
  export const tokenTypes: Readonly<Record<string, number>>
}
