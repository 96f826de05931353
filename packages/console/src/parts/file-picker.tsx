// Files to attach: chosen, dropped or pasted, with their sizes and the remaining room.

import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { formatSize } from '#data/format.ts'
import { Button } from './button.tsx'
import { Icon } from './icon.tsx'
import { Notice } from './notice.tsx'

/** The size of files that fit into a message of 25 MiB after encoding. */
const FILES_BYTES_MAX = 18 * 1024 * 1024
const FILES_MAX = 100

export type ListedFile = { id: string; name: string; size: number }

/** Why the files do not fit beside those that are attached; null if they do. */
function refusalOf(attached: readonly ListedFile[], files: readonly File[]): string | null {
  const bytes = [...attached, ...files].reduce((sum, { size }) => sum + size, 0)
  if (attached.length + files.length > FILES_MAX) {
    return `A message can have at most ${FILES_MAX} attachments.`
  }
  if (bytes <= FILES_BYTES_MAX) return null
  return `Attachments can be at most ${formatSize(FILES_BYTES_MAX)} in total; these are ${formatSize(bytes)}.`
}

/** Wraps a form and accepts files dropped or pasted anywhere in it. */
export function FileArea({
  files: attached,
  error,
  onAdd,
  onRemove,
  children,
  tools,
}: {
  files: readonly ListedFile[]
  error?: string | undefined
  onAdd: (files: readonly File[]) => void
  onRemove: (id: string) => void
  children: ComponentChildren
  /** Shown before and after the button that chooses files. */
  tools: (button: ComponentChildren) => ComponentChildren
}) {
  const [refusal, setRefusal] = useState<string | null>(null)
  const [isOver, setIsOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const add = (files: readonly File[]) => {
    const refused = refusalOf(attached, files)
    setRefusal(refused)
    if (refused === null && files.length > 0) onAdd(files)
  }
  const button = (
    <>
      <Button
        kind="quiet"
        icon="attach"
        label="Attach files"
        title="Attach files, or drop or paste them here"
        onClick={() => input.current?.click()}
      />
      <label class="unseen" for={id}>
        Files to attach
      </label>
      <input
        ref={input}
        id={id}
        class="unseen"
        type="file"
        multiple
        tabIndex={-1}
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
    </>
  )
  return (
    <fieldset
      class={isOver ? 'file-area over' : 'file-area'}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes('Files')) return
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        setIsOver(false)
        const files = event.dataTransfer?.files
        if (files === undefined || files.length === 0) return
        event.preventDefault()
        add([...files])
      }}
      onPaste={(event) => {
        const files = event.clipboardData?.files
        if (files === undefined || files.length === 0) return
        event.preventDefault()
        add([...files])
      }}
    >
      <legend class="unseen">Message and attachments</legend>
      {children}
      {refusal !== null && <Notice tone="warn" title={refusal} />}
      {error && <p class="field-error">{error}</p>}
      <FileList files={attached} remove={onRemove} />
      {tools(button)}
    </fieldset>
  )
}

function FileList({
  files,
  remove,
}: {
  files: readonly ListedFile[]
  remove: (id: string) => void
}) {
  if (files.length === 0) return null
  return (
    <ul class="files" aria-label="Attachments">
      {files.map(({ id, name, size }) => (
        <li key={id} class="file">
          <Icon name="attach" size={16} />
          <span class="file-name">{name}</span>
          <span class="muted">{formatSize(size)}</span>
          <Button kind="quiet" icon="close" label={`Remove ${name}`} onClick={() => remove(id)} />
        </li>
      ))}
    </ul>
  )
}
