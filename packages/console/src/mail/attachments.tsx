// Attachments: downloaded, or previewed where that is safe. Images are recognized by their bytes
// and shown only as images, text is shown as characters. Of PDF and office files, the service reads
// the text; their bytes are never opened here.

import type { Attachment, Message } from '@mailroom/sdk'
import { MailroomError } from '@mailroom/sdk'
import { useState } from 'preact/hooks'
import { formatNumber, formatSize, plural } from '#data/format.ts'
import { imageKind } from '#data/image-kind.ts'
import { ownAddress } from '#data/paths.ts'
import { client, consoleFetch } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Button, ButtonLink } from '#parts/button.tsx'
import { Dialog } from '#parts/dialog.tsx'
import { Icon, type IconName } from '#parts/icon.tsx'
import { Empty, Notice, Skeleton, Trouble } from '#parts/notice.tsx'
import { CodeBlock } from '#parts/small.tsx'

/** Larger files have no preview. */
const BYTES_MAX = 10 * 1024 * 1024
/** A small file can decode to a huge image: four bytes a pixel. */
const PIXELS_MAX = 50_000_000
const TEXT_CHARS_MAX = 100_000

export function Attachments({ message }: { message: Message }) {
  const [seen, setSeen] = useState<Attachment | null>(null)
  const files = message.attachments.filter(({ inline }) => !inline)
  if (files.length === 0) return null
  return (
    <>
      <ul class="files" aria-label="Attachments">
        {files.map((file) => (
          <li key={file.url} class="file">
            <Icon name={iconOf(file)} size={16} />
            <a
              class="file-link"
              href={ownAddress(file.url)}
              download={file.filename}
              title={file.contentType}
            >
              <span class="file-name">{file.filename}</span>
            </a>
            <span class="muted">
              {kindOf(file)}, {formatSize(file.sizeBytes)}
            </span>
            {file.sizeBytes <= BYTES_MAX && kindOf(file) !== 'Archive' && (
              <Button
                kind="quiet"
                icon="eye"
                label={`Preview ${file.filename}`}
                onClick={() => setSeen(file)}
              />
            )}
          </li>
        ))}
      </ul>
      {seen !== null && (
        <PreviewDialog messageId={message.id} file={seen} onClose={() => setSeen(null)} />
      )}
    </>
  )
}

/** Guesses by the sender's type; used only for the icon. */
function iconOf({ contentType }: Attachment): IconName {
  return contentType.startsWith('image/') ? 'image' : 'attach'
}

const kinds: readonly (readonly [RegExp, string])[] = [
  [/\.pdf$/i, 'PDF'],
  [/\.(?:docx?|odt|rtf)$/i, 'Document'],
  [/\.(?:xlsx?|ods|csv|tsv)$/i, 'Table'],
  [/\.(?:pptx?|odp)$/i, 'Slides'],
  [/\.(?:png|jpe?g|gif|webp|svg|heic|bmp|tiff?)$/i, 'Image'],
  [/\.(?:zip|gz|tgz|tar|7z|rar)$/i, 'Archive'],
  [/\.(?:txt|md|log|json|xml|ya?ml|html?)$/i, 'Text'],
  [/\.(?:ics)$/i, 'Calendar'],
  [/\.(?:eml)$/i, 'Message'],
]

/** Guesses by the sender's file name, as mail programs do. */
function kindOf({ filename }: Attachment): string {
  return kinds.find(([name]) => name.test(filename))?.[1] ?? 'File'
}

type Seen =
  | { kind: 'image'; url: string }
  | { kind: 'text'; text: string; isCut: boolean; source: string | null }
  | { kind: 'neither'; why: string }

function PreviewDialog({
  messageId,
  file,
  onClose,
}: {
  messageId: string
  file: Attachment
  onClose: () => void
}) {
  const { filename, url } = file
  const seen = useResource(`preview ${url}`, async (signal) => {
    const bytes = await readBytes(url, signal)
    return (await seenOf(bytes)) ?? readText(messageId, filename, signal)
  })
  return (
    <Dialog title={filename} onClose={onClose} size="wide">
      <div class="form">
        {seen.error !== undefined ? (
          <Trouble error={seen.error} retry={seen.reload} />
        ) : seen.value === undefined ? (
          <Skeleton rows={4} label="Loading the file" />
        ) : (
          <SeenFile seen={seen.value} filename={filename} />
        )}
        <div class="form-actions">
          <span class="hint grow">{formatSize(file.sizeBytes)}</span>
          <ButtonLink kind="primary" icon="download" href={ownAddress(url)} download={filename}>
            Download
          </ButtonLink>
        </div>
      </div>
    </Dialog>
  )
}

function SeenFile({ seen, filename }: { seen: Seen; filename: string }) {
  switch (seen.kind) {
    case 'image':
      return (
        <div class="preview">
          <img src={seen.url} alt={filename} />
        </div>
      )
    case 'text':
      return (
        <>
          {seen.source !== null && <Notice tone="calm" title={seen.source} />}
          {seen.isCut && (
            <Notice
              tone="calm"
              title={`The first ${formatNumber(TEXT_CHARS_MAX)} characters are shown`}
            />
          )}
          <CodeBlock label={`Text of ${filename}`} text={seen.text} />
        </>
      )
    case 'neither':
      return (
        <Empty icon="attach" title="No preview">
          {seen.why}
        </Empty>
      )
  }
}

async function readBytes(url: string, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const response = await consoleFetch(ownAddress(url), { signal })
  if (!response.ok) throw new Error('The file could not be loaded. Open the message again.')
  return new Uint8Array(await response.arrayBuffer())
}

/**
 * Null for neither an image nor text. Makes a `data:` URL with a type chosen here, so that the
 * browser never opens the response as a document.
 */
async function seenOf(bytes: Uint8Array<ArrayBuffer>): Promise<Seen | null> {
  const kind = imageKind(bytes)
  if (kind !== null) {
    const { type, width, height } = kind
    if (width === null || height === null || width * height > PIXELS_MAX) {
      return { kind: 'neither', why: 'The picture is too large to be shown here.' }
    }
    return { kind: 'image', url: await dataUrl(new Blob([bytes], { type })) }
  }
  const text = textOf(bytes)
  return text === null ? null : cut(text, null)
}

/** The text that the service finds in the file, as an agent reads it. */
async function readText(messageId: string, filename: string, signal: AbortSignal): Promise<Seen> {
  try {
    const { text, pages } = await client.attachments.text(messageId, filename, { signal })
    const size = pages === undefined ? '' : `, ${plural(pages, 'page')}`
    return cut(
      text,
      `Only the text of the file${size}. Download it to see its layout and pictures.`,
    )
  } catch (error) {
    if (!(error instanceof MailroomError) || error.code !== 'no_text') throw error
    return { kind: 'neither', why: error.message }
  }
}

function cut(text: string, source: string | null): Seen {
  const isCut = text.length > TEXT_CHARS_MAX
  return { kind: 'text', text: text.slice(0, TEXT_CHARS_MAX), isCut, source }
}

/** Formats that can consist of characters, but whose text is something else. */
const NOT_SHOWN_TEXT = /^(?:%PDF-|\{\\rtf)/

/** Null unless the bytes are UTF-8 text without control characters. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const isText = !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) && !NOT_SHOWN_TEXT.test(text)
    return isText ? text : null
  } catch {
    return null
  }
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(blob)
  })
}
