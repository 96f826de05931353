import type { ClientOperationId } from '@mailroom/contract/operations.ts'

export type Texts = {
  readonly [Id in ClientOperationId]?: {
    /** A description of the command, in at most two lines of 80 columns. */
    readonly about?: string
    readonly fields?: Readonly<Record<string, string>>
  }
}
