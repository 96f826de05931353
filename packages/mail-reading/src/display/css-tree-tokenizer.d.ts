// Types for the tokenizer of css-tree, which loads without the tables of the language. The
// library's own types only cover the whole package.

declare module 'css-tree/tokenizer' {
  /** Calls `onToken` with the type and range of each token, in order and without gaps. */
  export function tokenize(
    source: string,
    onToken: (type: number, start: number, end: number) => void,
  ): void
  export const tokenTypes: Readonly<Record<string, number>>
}
