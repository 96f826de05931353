// The form of an example: one request, and the response to it.

import type {
  BodyOf,
  DescribedOperationId,
  OperationId,
  PathOf,
  QueryOf,
  ResponseOf,
} from '#operations.ts'

/**
 * All examples belong to one story, in which an id always means the same thing. "…" replaces the
 * rest of a long text, or a secret. A value that begins with a dollar sign is an environment
 * variable.
 */
export type Example = {
  /** The caller, if the operation accepts the key of an account and this one is refused it. */
  readonly as?: 'approver'
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** The file of an upload. */
  readonly file?: ExampleFile
  /** The JSON of the response, or its text in another media type. */
  readonly response?: unknown
}

type ExampleFile = { readonly name: string; readonly mediaType: string; readonly text: string }

type ExampleOf<Id extends OperationId> = Pick<Example, 'as' | 'headers' | 'file'> &
  (keyof PathOf<Id> extends never ? unknown : { readonly path: PathOf<Id> }) &
  (BodyOf<Id> extends undefined ? unknown : { readonly body?: BodyOf<Id> }) & {
    readonly query?: Partial<QueryOf<Id>>
    readonly response?: ResponseOf<Id> extends undefined ? string : ResponseOf<Id>
  }

export type Examples = { readonly [Id in DescribedOperationId]: ExampleOf<Id> }
export type SomeExamples = Partial<Examples>
