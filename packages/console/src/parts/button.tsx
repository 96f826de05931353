// Buttons. A busy button cannot be pressed again.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { toastFailure } from '#data/toasts.ts'
import { Icon, type IconName } from './icon.tsx'

export type ButtonProps = {
  children?: ComponentChildren
  icon?: IconName
  kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  type?: 'button' | 'submit'
  isBusy?: boolean
  isDisabled?: boolean
  isPressed?: boolean
  /** Gets the focus when its dialog opens. */
  isFocused?: boolean
  /** The accessible name of an icon-only button. */
  label?: string
  title?: string
  onClick?: () => void
}

export function Button(props: ButtonProps) {
  const { children, icon, kind = 'plain', type = 'button', isBusy = false, label } = props
  const isBare = children === undefined
  return (
    <button
      type={type}
      class={`button ${kind}${isBare ? ' bare' : ''}${isBusy ? ' busy' : ''}`}
      disabled={props.isDisabled}
      autofocus={props.isFocused}
      aria-busy={isBusy}
      aria-pressed={props.isPressed}
      aria-label={label}
      title={props.title ?? (isBare ? label : undefined)}
      onClick={() => {
        if (!isBusy) props.onClick?.()
      }}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  )
}

/** A button that is busy while its action runs. Errors appear in a toast. */
export function ActionButton(
  props: Omit<ButtonProps, 'onClick' | 'isBusy'> & { action: () => Promise<unknown> },
) {
  const { action, ...rest } = props
  const [isBusy, setIsBusy] = useState(false)
  const run = async () => {
    setIsBusy(true)
    try {
      await action()
    } catch (error) {
      toastFailure(error)
    } finally {
      setIsBusy(false)
    }
  }
  return <Button {...rest} isBusy={isBusy} onClick={() => void run()} />
}

export function ButtonLink({
  href,
  icon,
  kind = 'plain',
  children,
  download,
  label,
  onClick,
}: {
  href: string
  icon?: IconName
  kind?: 'primary' | 'plain' | 'quiet'
  children?: ComponentChildren
  /** The accessible name of an icon-only button. */
  label?: string
  /** Downloads the target under this name instead of opening it. */
  download?: string
  onClick?: () => void
}) {
  return (
    <a
      class={`button ${kind}${children === undefined ? ' bare' : ''}`}
      href={href}
      download={download}
      onClick={onClick}
      aria-label={label}
      title={label}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </a>
  )
}
