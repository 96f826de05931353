import type { ClientOperationId } from '@mailroom/contract/operations.ts'

export type Texts = {
  readonly [Id in ClientOperationId]?: {
    /** What the command does, in at most two lines of 80 columns. */
    readonly about?: string
    readonly fields?: Readonly<Record<string, string>>
  }
}
