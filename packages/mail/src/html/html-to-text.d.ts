// The part of html-to-text that we use; the library ships no types of its own.

declare module 'html-to-text' {
  export type HtmlNode = {
    readonly name?: string
    readonly type?: string
    readonly data?: string
    readonly attribs?: Readonly<Record<string, string>>
    readonly children?: readonly HtmlNode[]
  }
  export type Builder<M> = {
    /** The second argument of the compiled function. */
    readonly metadata: M
    readonly options: { readonly formatters: Readonly<Record<string, Formatter<M>>> }
    addInline(text: string, options?: { noWordTransform?: boolean }): void
    pushWordTransform(transform: (word: string) => string): void
    popWordTransform(): void
    openBlock(options?: { leadingLineBreaks?: number }): void
    closeBlock(options?: { trailingLineBreaks?: number }): void
  }
  export type Walk<M> = (children: readonly HtmlNode[] | undefined, builder: Builder<M>) => void
  export type Formatter<M> = (
    element: HtmlNode,
    walk: Walk<M>,
    builder: Builder<M>,
    options: Readonly<Record<string, unknown>>,
  ) => void
  export type Selector = {
    readonly selector: string
    /** The default for the selector when left out. */
    readonly format?: string
    readonly options?: Readonly<Record<string, unknown>>
  }
  export type Options<M> = {
    readonly wordwrap?: number | false
    readonly formatters?: Readonly<Record<string, Formatter<M>>>
    readonly selectors?: readonly Selector[]
    readonly limits?: {
      readonly maxInputLength?: number
      readonly maxDepth?: number
      readonly ellipsis?: string
    }
  }
  export function compile<M>(options: Options<M>): (html: string, metadata: M) => string
}
