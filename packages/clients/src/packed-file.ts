export type PackedFile = {
  /** Below the root of the package, with `/`. */
  readonly path: string
  readonly content: Buffer
  readonly isProgram?: boolean
}
