// Dialogs on the browser's dialog element, which keeps the focus inside and closes on Escape.

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { describeFailure } from '#data/failure.ts'
import { Button } from './button.tsx'
import { TextField } from './field.tsx'
import { Notice } from './notice.tsx'
import { Secret } from './small.tsx'

/** Open while it is rendered. */
export function Dialog({
  title,
  children,
  onClose,
  size = 'middle',
}: {
  title: string
  children: ComponentChildren
  onClose: () => void
  size?: 'middle' | 'wide' | 'palette'
}) {
  const element = useRef<HTMLDialogElement>(null)
  const isLeaving = useRef(false)
  const id = useId()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => {
      isLeaving.current = true
      dialog?.close()
    }
  }, [])
  // Browsers close a dialog at the second Escape in a row without a cancelable event. It is opened
  // again at once, so that the page does not get the next key; if it should close, it closes in the
  // next task.
  const closed = () => {
    if (isLeaving.current) return
    element.current?.showModal()
    onClose()
  }
  return (
    <dialog
      ref={element}
      class={`dialog ${size}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        // A close that cannot be prevented fires no event before it.
        if (event.cancelable) onClose()
      }}
      onClose={closed}
    >
      <header class="dialog-head">
        <h2 id={id} class="bounded">
          {title}
        </h2>
        <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  )
}

/** A form in a dialog. It shows errors at their fields where known. */
export function FormDialog({
  title,
  action,
  submit,
  onClose,
  children,
  kind = 'primary',
  isDisabled = false,
  isActionFocused = false,
  dismiss = 'Cancel',
  size = 'middle',
}: {
  title: string
  /** Label of the submit button. */
  action: string
  /** Label of the cancel button. */
  dismiss?: string
  submit: () => Promise<unknown>
  onClose: () => void
  children: (fields: Readonly<Record<string, string>>) => ComponentChildren
  kind?: 'primary' | 'danger'
  isDisabled?: boolean
  /** Enter submits without another key. */
  isActionFocused?: boolean
  size?: 'middle' | 'wide'
}) {
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const described = failure === null ? null : describeFailure(failure)
  const send = async () => {
    setIsBusy(true)
    setFailure(null)
    try {
      await submit()
    } catch (error) {
      setFailure(error)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose} size={size}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isBusy && !isDisabled) void send()
        }}
      >
        {described && (
          <Notice tone="bad" title={described.message}>
            {described.fix}
          </Notice>
        )}
        {children(described?.fields ?? {})}
        <div class="form-actions">
          <Button onClick={onClose}>{dismiss}</Button>
          <Button
            type="submit"
            kind={kind}
            isBusy={isBusy}
            isDisabled={isDisabled}
            isFocused={isActionFocused}
          >
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Asks for confirmation. With `typed`, the person must type that text. */
export function ConfirmDialog({
  title,
  action,
  submit,
  onClose,
  children,
  typed,
  dismiss = 'Cancel',
}: {
  title: string
  action: string
  dismiss?: string
  submit: () => Promise<unknown>
  onClose: () => void
  children: ComponentChildren
  typed?: string
}) {
  const [text, setText] = useState('')
  return (
    <FormDialog
      {...{ title, action, submit, onClose, dismiss }}
      kind="danger"
      isDisabled={typed !== undefined && text.trim() !== typed}
    >
      {() => (
        <>
          <div class="prose">{children}</div>
          {typed !== undefined && (
            <TextField
              label={`Type ${typed} to confirm`}
              name="confirmation"
              value={text}
              onValue={setText}
              autocomplete="off"
              spellcheck={false}
              isCode
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

/** Shows a secret, which the service shows only once. */
export function SecretDialog({
  title,
  label,
  value,
  onClose,
  children,
  actions,
}: {
  title: string
  /** The kind of value, for example "token" or "secret". */
  label: string
  value: string
  onClose: () => void
  children: ComponentChildren
  actions?: ComponentChildren
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="form">
        <Notice tone="warn" title={`Copy the ${label} now: it is shown only once`}>
          {children}
        </Notice>
        <Secret value={value} label={label} />
        <div class="form-actions">
          {actions}
          <Button kind="primary" onClick={onClose}>
            I have copied it
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
