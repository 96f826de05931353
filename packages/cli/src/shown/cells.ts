// Values of an answer as texts, and answers taken apart without a word about what they hold.

import type { Output } from '#base/output.ts'

export type Fields = Readonly<Record<string, unknown>>

export function recordOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(recordOf) : []
}

/** A field, or one within another: `message.subject`. */
export function at(row: Fields, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => recordOf(value)[name], row)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** Times of the person's own zone on a terminal, of the API elsewhere. */
export function cellOf({ isTerminal }: Pick<Output, 'isTerminal'>, value: unknown): string {
  if (value === null || value === undefined) return isTerminal ? '–' : ''
  if (typeof value === 'boolean') return isTerminal ? (value ? 'yes' : 'no') : String(value)
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (isTerminal && typeof value === 'string' && TIME.test(value)) return localTime(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function localTime(text: string): string {
  const date = new Date(text)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-')
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}
