// Short messages about the results of actions.

import { signal } from '@preact/signals'
import { describeFailure } from './failure.ts'

export type Toast = {
  readonly id: number
  readonly kind: 'done' | 'failed'
  readonly text: string
  readonly detail: string | null
  readonly undo: (() => Promise<unknown>) | null
  /** The URL of a page that shows the result. */
  readonly href: string | null
}

export const toasts = signal<readonly Toast[]>([])

const SHOWN_MS = 6_000
const SHOWN_FAILURE_MS = 12_000
/** Long enough to reach the toast by keyboard. */
const SHOWN_ACTION_MS = 20_000
const TOASTS_MAX = 4
let count = 0

export function toast(
  text: string,
  undo: (() => Promise<unknown>) | null = null,
  href: string | null = null,
): void {
  const shownMs = undo === null && href === null ? SHOWN_MS : SHOWN_ACTION_MS
  show({ id: ++count, kind: 'done', text, detail: null, undo, href }, shownMs)
}

export function toastFailure(error: unknown): void {
  const { message, fix } = describeFailure(error)
  show(
    { id: ++count, kind: 'failed', text: message, detail: fix, undo: null, href: null },
    SHOWN_FAILURE_MS,
  )
}

export function dismissToast(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

function show(one: Toast, shownMs: number): void {
  // Only the newest change can be undone, because it may depend on older ones.
  const others = toasts.value.filter(({ undo }) => one.undo === null || undo === null)
  toasts.value = [...others, one].slice(-TOASTS_MAX)
  setTimeout(() => dismissToast(one.id), shownMs)
}
