// Which part of a list is asked for.

export type Page = { limit: number; offset: number }
