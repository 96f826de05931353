// Form fields with a label and an error.

import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

type Common = {
  label: string
  name: string
  hint?: ComponentChildren
  error?: string | undefined
  /** The label is for screen readers only. */
  isLabelHidden?: boolean
}

type InputProps = Common & {
  type?: 'text' | 'password' | 'email' | 'search' | 'url' | 'number' | 'datetime-local'
  value?: string
  placeholder?: string
  required?: boolean
  autocomplete?: 'off' | 'current-password'
  autofocus?: boolean
  maxLength?: number
  readOnly?: boolean
  spellcheck?: boolean
  isCode?: boolean
  min?: number
  /** The id of a datalist of suggestions. */
  list?: string
  /** Makes the field a combobox of the listbox that these attributes name. */
  combobox?: {
    'aria-expanded': boolean
    'aria-controls': string
    'aria-activedescendant': string | undefined
    onBlur: () => void
    onKeyDown: (event: KeyboardEvent) => void
  }
  onValue?: (value: string) => void
}

export function TextField({ onValue, isCode, combobox, ...props }: InputProps) {
  const { label, name, hint, error, isLabelHidden, type = 'text', ...rest } = props
  const element = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // Browsers apply `autofocus` only once per document and in dialogs.
    if (rest.autofocus) element.current?.focus()
  }, [])
  return (
    <Field {...{ label, name, hint, error, isLabelHidden: isLabelHidden ?? false }}>
      {(ids) => (
        <input
          {...rest}
          {...ids}
          {...(combobox && { role: 'combobox', 'aria-autocomplete': 'list', ...combobox })}
          ref={element}
          // The attributes that all used input types have in common.
          type={type as 'text'}
          name={name}
          class={isCode ? 'input code' : 'input'}
          onInput={(event) => onValue?.(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

type AreaProps = Common & {
  value?: string
  rows?: number
  placeholder?: string | undefined
  required?: boolean
  isCode?: boolean
  autofocus?: boolean
  onValue?: (value: string) => void
}

export function AreaField({ onValue, isCode, ...props }: AreaProps) {
  const { label, name, hint, error, isLabelHidden, rows = 6, ...rest } = props
  return (
    <Field {...{ label, name, hint, error, isLabelHidden: isLabelHidden ?? false }}>
      {(ids) => (
        <textarea
          {...rest}
          {...ids}
          name={name}
          rows={rows}
          class={isCode ? 'input area code' : 'input area'}
          onInput={(event) => onValue?.(event.currentTarget.value)}
        />
      )}
    </Field>
  )
}

type SelectProps = Common & {
  value: string
  options: readonly { value: string; text: string }[]
  onValue: (value: string) => void
}

export function SelectField({ value, options, onValue, ...props }: SelectProps) {
  const { label, name, hint, error, isLabelHidden } = props
  return (
    <Field {...{ label, name, hint, error, isLabelHidden: isLabelHidden ?? false }}>
      {(ids) => (
        <select
          {...ids}
          name={name}
          class="input select"
          value={value}
          onChange={(event) => onValue(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField({
  label,
  name,
  hint,
  isChecked,
  onChecked,
}: {
  label: string
  name: string
  hint?: string
  isChecked: boolean
  onChecked: (isChecked: boolean) => void
}) {
  const id = useId()
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        name={name}
        checked={isChecked}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChecked(event.currentTarget.checked)}
      />
      <div>
        <label for={id}>{label}</label>
        {hint && (
          <p class="hint" id={`${id}-hint`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

type FieldIds = {
  id: string
  'aria-describedby': string | undefined
  'aria-invalid': boolean | undefined
}

function Field({
  label,
  hint,
  error,
  isLabelHidden,
  children,
}: Omit<Common, 'isLabelHidden'> & {
  isLabelHidden: boolean
  children: (ids: FieldIds) => ComponentChildren
}) {
  const id = useId()
  const described = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'unseen' : undefined}>
        {label}
      </label>
      {children({
        id,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': error ? true : undefined,
      })}
      {error && (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
