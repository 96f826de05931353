// Keyboard shortcuts: single keys, and `g` followed by a letter. They are disabled while a person
// types or a dialog is open.

import { useEffect, useRef } from 'preact/hooks'

/** The shortcuts in the help, by group. Pages cannot use other keys. */
export const shortcuts = {
  everywhere: {
    '?': 'This help',
    Escape: 'Close, or go back to the list',
  },
  ofKeys: {
    c: 'Compose',
    '/': 'Search',
    'Control k': 'Find mail, inboxes and pages',
    'Control Enter': 'Send, while writing',
  },
  mail: {
    j: 'Next',
    k: 'Previous',
    Enter: 'Open',
    r: 'Reply',
    a: 'Reply to all',
    f: 'Forward',
    u: 'Mark as unread or read',
    x: 'Select',
    '#': 'Move the selected to the trash',
  },
  reviews: {
    j: 'Next',
    k: 'Previous',
    Enter: 'Open the first',
    a: 'Approve, after a confirmation',
    e: 'Edit',
    x: 'Reject, after a confirmation',
  },
} as const

type Groups = typeof shortcuts
type Listed = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups]

export type KeyActions = Readonly<Partial<Record<Listed | `g ${string}`, (() => void) | undefined>>>

/** The most recently mounted handler gets the key first. */
const stack: { current: KeyActions }[] = []
const SEQUENCE_MS = 1_200
let prefix = ''
let prefixAtMs = 0

/** Actions by key: `j`, `Enter`, `Escape`, or `g i` for two keys in sequence. */
export function useKeys(actions: KeyActions): void {
  const holder = useRef(actions)
  holder.current = actions
  useEffect(() => {
    stack.push(holder)
    return () => void stack.splice(stack.indexOf(holder), 1)
  }, [])
}

export function listenToKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
    if (document.querySelector('dialog[open]') !== null) return
    const target = event.target instanceof HTMLElement ? event.target : null
    if (target !== null && isTyping(target)) {
      if (event.key === 'Escape') target.blur()
      return
    }
    // Enter belongs to a focused button or link.
    if (event.key === 'Enter' && target?.closest('a, button, summary')) return
    const isSequence = prefix !== '' && event.timeStamp - prefixAtMs < SEQUENCE_MS
    const name = isSequence ? `${prefix} ${event.key}` : event.key
    prefix = ''
    if (run(name)) event.preventDefault()
    else if (!isSequence && event.key === 'g') {
      prefix = 'g'
      prefixAtMs = event.timeStamp
    }
  })
}

function run(name: string): boolean {
  for (const { current } of stack.toReversed()) {
    const action = current[name as keyof KeyActions]
    if (action !== undefined) {
      action()
      return true
    }
  }
  return false
}

function isTyping(element: HTMLElement): boolean {
  if (element.isContentEditable) return true
  if (element instanceof HTMLInputElement) {
    return !['checkbox', 'radio', 'button', 'submit'].includes(element.type)
  }
  return element instanceof HTMLTextAreaElement || element instanceof HTMLSelectElement
}
