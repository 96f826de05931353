// A page: its title, what can be done on it, and where the reader goes on after coming to it.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Set by the first page: the browser's own focus is right after loading. */
let hasArrived = false

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Mailroom' : `${title} · Mailroom`
  }, [title])
}

/** A heading that takes the focus when somebody has come to the page, so that it is read out. */
export function PageTitle({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (hasArrived) heading.current?.focus({ preventScroll: true })
    hasArrived = true
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

export function Page({
  title,
  intro,
  actions,
  above,
  children,
}: {
  title: string
  intro?: ComponentChildren
  actions?: ComponentChildren
  /** Stands over the title, such as the way back. */
  above?: ComponentChildren
  children: ComponentChildren
}) {
  useTitle(title)
  return (
    <div class="page">
      {above}
      <header class="page-head">
        <div class="page-words">
          <PageTitle>{title}</PageTitle>
          {intro && <p class="page-intro">{intro}</p>}
        </div>
        {actions && <div class="page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

/** A part of a page with a heading of its own. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string
  actions?: ComponentChildren
  children: ComponentChildren
}) {
  return (
    <section class="section">
      <header class="section-head">
        <h2>{title}</h2>
        {actions && <div class="section-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}
