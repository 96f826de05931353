// Small shared parts: times, copyable text, people, keyboard keys.

import { shownLine, shownText } from '@mailroom/mail/unseen.ts'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatListTime, formatRelative, formatWhole, readPerson } from '#data/format.ts'
import { toastFailure } from '#data/toasts.ts'
import { Button } from './button.tsx'

/** Relative time, or in lists the hour or day. The full time is shown on hover. */
export function Time({ at, isInList = false }: { at: string; isInList?: boolean }) {
  return (
    <time dateTime={at} title={formatWhole(at)}>
      {isInList ? formatListTime(at) : formatRelative(at)}
    </time>
  )
}

const COPIED_MS = 2_000

export function CopyButton({
  text,
  label,
  onCopied,
  children,
}: {
  text: string
  onCopied?: () => void
  /** Completes "Copy …", for example `value of the MX record`. */
  label: string
  /** Shown beside the icon, for example `Copy`. */
  children?: string
}) {
  const [isCopied, setIsCopied] = useState(false)
  const timer = useRef(0)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setIsCopied(true)
      onCopied?.()
      clearTimeout(timer.current)
      timer.current = window.setTimeout(() => setIsCopied(false), COPIED_MS)
    } catch {
      toastFailure(new Error('Your browser did not allow copying to the clipboard.'))
    }
  }
  return (
    <span class="copy">
      <Button
        kind="quiet"
        icon={isCopied ? 'check' : 'copy'}
        label={children === undefined ? `Copy ${label}` : `${children} (${label})`}
        onClick={() => void copy()}
      >
        {children}
      </Button>
      <span class="unseen" aria-live="polite">
        {isCopied ? 'Copied' : ''}
      </span>
    </span>
  )
}

/** Text with a button that copies it. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <span class="copy-text">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  )
}

export function Secret({ value, label }: { value: string; label: string }) {
  return (
    <div class="secret">
      <code data-secret="">{value}</code>
      <CopyButton text={value} label={label}>
        Copy
      </CopyButton>
    </div>
  )
}

export function PersonName({ text }: { text: string }) {
  const { name, address } = readPerson(text)
  return <span title={text}>{shownLine(name ?? address)}</span>
}

export function Key({ children }: { children: string }) {
  return <kbd>{children}</kbd>
}

/** Exclusive choices as buttons side by side. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onValue,
}: {
  label: string
  value: Value
  options: readonly { value: Value; text: string }[]
  onValue: (value: Value) => void
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onValue(option.value)}
        >
          {option.text}
        </button>
      ))}
    </fieldset>
  )
}

/** A scrollable box must be reachable by keyboard (WCAG 2.2, 2.1.1). */
export const reachable = { tabIndex: 0 } as const

export function CodeBlock({ label, text }: { label: string; text: ComponentChildren }) {
  return (
    <section class="code-block" aria-label={label} {...reachable}>
      <pre>{typeof text === 'string' ? shownText(text) : text}</pre>
    </section>
  )
}

/** Names and values; empty values are left out. */
export function Facts({
  lines,
  label,
}: {
  lines: readonly (readonly [string, string])[]
  label?: string
}) {
  return (
    <dl class="facts" aria-label={label}>
      {lines
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <div key={name} class="fact">
            <dt>{name}</dt>
            <dd>{shownLine(value)}</dd>
          </div>
        ))}
    </dl>
  )
}
