// A button that opens a menu (WAI-ARIA, menu button). The browser's popover closes it at a click
// elsewhere and returns the focus to its button.

import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export type MenuItem = {
  text: string
  icon?: IconName
} & ({ run: () => void } | { href: string; download?: string })

const GAP_PX = 4

export function Menu({ label, items }: { label: string; items: readonly MenuItem[] }) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const close = () => list.current?.hidePopover()
  const move = (step: number) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])]
    const at = all.findIndex((item) => item.matches(':focus'))
    const next = at === -1 && step < 0 ? all.length - 1 : (at + step + all.length) % all.length
    all[next]?.focus()
  }
  useEffect(() => {
    if (!isOpen || button.current === null || list.current === null) return
    put(list.current, button.current.getBoundingClientRect())
    move(1)
    // The menu does not move with the page behind it.
    document.addEventListener('scroll', close, { capture: true })
    return () => document.removeEventListener('scroll', close, { capture: true })
  }, [isOpen])
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button quiet bare"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        <Icon name="more" />
      </button>
      <div
        ref={list}
        id={id}
        role="menu"
        aria-label={label}
        class="menu"
        popover="auto"
        onToggle={(event) => setIsOpen(event.newState === 'open')}
        onKeyDown={(event) => {
          // The shortcuts of the page are not meant.
          event.stopPropagation()
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) move(step)
          else if (event.key === 'Escape' || event.key === 'Tab') close()
          else return
          event.preventDefault()
        }}
      >
        {items.map((item) => {
          const shown = (
            <>
              {item.icon && <Icon name={item.icon} size={16} />}
              <span>{item.text}</span>
            </>
          )
          return 'href' in item ? (
            <a
              key={item.text}
              role="menuitem"
              tabIndex={-1}
              href={item.href}
              download={item.download}
              onClick={close}
            >
              {shown}
            </a>
          ) : (
            <button
              key={item.text}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close()
                item.run()
              }}
            >
              {shown}
            </button>
          )
        })}
      </div>
    </>
  )
}

/** Below the button or, without room there, above it; both end at the same side. */
function put({ style, offsetWidth, offsetHeight }: HTMLElement, at: DOMRect): void {
  const below = at.bottom + GAP_PX
  const isBelow = below + offsetHeight <= innerHeight
  style.top = `${isBelow ? below : Math.max(GAP_PX, at.top - GAP_PX - offsetHeight)}px`
  style.left = `${Math.max(GAP_PX, at.right - offsetWidth)}px`
}
