// Text of which every character counts, in a box of its own that scrolls.

/** What scrolls has to be reachable by the keyboard (WCAG 2.2, 2.1.1). */
export const reachable = { tabIndex: 0 } as const

export function CodeBlock({ label, text }: { label: string; text: string }) {
  return (
    <section class="code-block" aria-label={label} {...reachable}>
      <pre>{text}</pre>
    </section>
  )
}
