// A page with its title and actions. Its heading gets the focus.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Set by the first page: after loading, the browser's own focus is right. */
let hasArrived = false

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Mailroom' : `${title} · Mailroom`
  }, [title])
}

/** Gets the focus on a page change, so that screen readers announce the page. */
export function PageTitle({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (hasArrived) heading.current?.focus({ preventScroll: true })
    hasArrived = true
  }, [])
  return (
    <h1 ref={heading} tabIndex={-1} class="bounded">
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
  /** Shown above the title, such as a link back. */
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

/** A section of a page with its own heading. */
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
