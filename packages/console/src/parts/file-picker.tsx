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

export type Picked = { id: number; file: File }
let count = 0

function addFiles(
  picked: readonly Picked[],
  files: Iterable<File>,
): { picked: Picked[]; refusal: string | null } {
  const all = [...picked, ...[...files].map((file) => ({ id: ++count, file }))]
  const bytes = all.reduce((sum, { file }) => sum + file.size, 0)
  if (all.length > FILES_MAX) {
    return { picked: [...picked], refusal: `A message can have at most ${FILES_MAX} attachments.` }
  }
  if (bytes > FILES_BYTES_MAX) {
    const refusal = `Attachments can be at most ${formatSize(FILES_BYTES_MAX)} in total; these are ${formatSize(bytes)}.`
    return { picked: [...picked], refusal }
  }
  return { picked: all, refusal: null }
}

/** Wraps a form and accepts files dropped or pasted anywhere in it. */
export function FileArea({
  picked,
  error,
  onPicked,
  children,
}: {
  picked: readonly Picked[]
  error?: string | undefined
  onPicked: (picked: Picked[]) => void
  children: ComponentChildren
}) {
  const [refusal, setRefusal] = useState<string | null>(null)
  const [isOver, setIsOver] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const add = (files: Iterable<File>) => {
    const added = addFiles(picked, files)
    setRefusal(added.refusal)
    onPicked(added.picked)
  }
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
        add(files)
      }}
      onPaste={(event) => {
        const files = event.clipboardData?.files
        if (files === undefined || files.length === 0) return
        event.preventDefault()
        add(files)
      }}
    >
      <legend class="unseen">Message and attachments</legend>
      {children}
      {refusal !== null && <Notice tone="warn" title={refusal} />}
      {error && <p class="field-error">{error}</p>}
      <div class="file-tools">
        <Button icon="attach" onClick={() => input.current?.click()}>
          Attach files
        </Button>
        <span class="hint">or drop or paste files here</span>
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
            add(event.currentTarget.files ?? [])
            event.currentTarget.value = ''
          }}
        />
      </div>
      <FileList
        files={picked.map(({ id: fileId, file: { name, size } }) => ({ id: fileId, name, size }))}
        remove={(fileId) => onPicked(picked.filter((one) => one.id !== fileId))}
      />
    </fieldset>
  )
}

export function FileList<Id extends string | number>({
  files,
  remove,
}: {
  files: readonly { id: Id; name: string; size: number }[]
  remove: (id: Id) => void
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
