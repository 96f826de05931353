// Labels of threads and messages.

import { useId, useState } from 'preact/hooks'
import { describeFailure } from '#data/failure.ts'
import { client } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button } from '#parts/button.tsx'
import { TextField } from '#parts/field.tsx'
import { Icon } from '#parts/icon.tsx'

const LABELS_READ = 100

/** The labels in use in the inbox, or in the account without `inboxId`. */
export function useLabelsInUse(inboxId?: string) {
  return useResource(`labels ${inboxId}`, async (signal) => {
    const options = { limit: LABELS_READ, signal, ...(inboxId && { inboxId }) }
    const { data } = await client.threads.labels(options).page()
    return data.map(({ label }) => label)
  })
}

/** A datalist of the labels in use, for a text field with this `list`. */
export function LabelSuggestions({ id }: { id: string }) {
  const labels = useLabelsInUse()
  return (
    <datalist id={id}>
      {labels.value?.map((label) => (
        <option key={label} value={label} />
      ))}
    </datalist>
  )
}

/** Splits typed labels at commas and white space and lower-cases them. */
export function splitLabels(text: string): string[] {
  const labels = text.toLowerCase().split(/[\s,]+/)
  return [...new Set(labels.filter((label) => label !== ''))]
}

export function LabelMarks({ labels, max = 6 }: { labels: readonly string[]; max?: number }) {
  if (labels.length === 0) return null
  return (
    <span class="labels">
      {labels.slice(0, max).map((label) => (
        <span key={label} class="label">
          {label}
        </span>
      ))}
      {labels.length > max && (
        <span class="thread-mark" title={labels.join(', ')}>
          +{labels.length - max}
          <span class="unseen"> more labels</span>
        </span>
      )}
    </span>
  )
}

export type LabelChange = { addLabels?: string[]; removeLabels?: string[] }

/** Labels with controls to change them. `hrefOf` links to the mail with a label. */
export function LabelEditor({
  labels,
  hrefOf,
  change,
  isAddingAtFirst = false,
}: {
  labels: readonly string[]
  hrefOf: (label: string) => string
  /** Changes the labels; undefined if they cannot be changed now. */
  change: ((change: LabelChange) => Promise<unknown>) | undefined
  isAddingAtFirst?: boolean
}) {
  const [isAdding, setIsAdding] = useState(isAddingAtFirst)
  const [error, setError] = useState<string | undefined>()
  const run = async (changed: LabelChange) => {
    setError(undefined)
    try {
      await change?.(changed)
      return true
    } catch (failure) {
      const { message, fields } = describeFailure(failure)
      setError(Object.values(fields)[0] === undefined ? message : LABEL_HINT)
      return false
    }
  }
  return (
    <div class="labels">
      {labels.map((label) => (
        <span key={label} class="label">
          <a href={hrefOf(label)} title={`Threads with the label ${label}`}>
            {label}
          </a>
          {change && (
            <button
              type="button"
              aria-label={`Remove the label ${label}`}
              onClick={() => void run({ removeLabels: [label] })}
            >
              <Icon name="close" size={12} />
            </button>
          )}
        </span>
      ))}
      {change && !isAdding && (
        <Button kind="quiet" icon="plus" onClick={() => setIsAdding(true)}>
          Label
        </Button>
      )}
      {change && isAdding && (
        <AddLabel
          error={error}
          onClose={() => {
            setIsAdding(false)
            setError(undefined)
          }}
          add={async (text) => (await run({ addLabels: splitLabels(text) })) && setIsAdding(false)}
        />
      )}
      {!isAdding && error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

export const LABEL_HINT =
  'A label has up to 64 lower-case letters, digits, “_”, “.”, “/” and “-”, and begins with a letter or digit.'

function AddLabel({
  error,
  add,
  onClose,
}: {
  error: string | undefined
  add: (text: string) => Promise<unknown>
  onClose: () => void
}) {
  const [text, setText] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const listId = useId()
  return (
    <form
      class="label-form"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
      onSubmit={(event) => {
        event.preventDefault()
        if (isBusy || text.trim() === '') return
        setIsBusy(true)
        void add(text).finally(() => setIsBusy(false))
      }}
    >
      <TextField
        label="New label"
        name="label"
        isLabelHidden
        placeholder="Label"
        value={text}
        onValue={setText}
        error={error}
        list={listId}
        autocomplete="off"
        spellcheck={false}
        autofocus
      />
      <LabelSuggestions id={listId} />
      <Button type="submit" isBusy={isBusy}>
        Add
      </Button>
      <Button kind="quiet" icon="close" label="Cancel" onClick={onClose} />
    </form>
  )
}
