import type { EventFilter } from './event.ts'

export type AskedFilter = {
  readonly accountId: string
  readonly kinds: readonly string[]
  /** Ids or `clientId`s. */
  readonly podIds: readonly string[]
  readonly inboxIds: readonly string[]
}

export type CheckedFilter =
  | {
      readonly kind: 'filter'
      readonly filter: EventFilter
      /** Left out of the filter, which holds at least one that is known. */
      readonly unknownKinds: readonly string[]
    }
  | {
      readonly kind: 'mistake'
      readonly field: 'kinds' | 'podIds' | 'inboxIds'
      readonly index: number
      readonly value: string
      readonly message: string
    }

/** See `checkFilter`. */
export type CheckFilter = (asked: AskedFilter) => Promise<CheckedFilter>
