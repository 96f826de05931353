// The HTML of a message in a sandboxed frame, as tall as the message and as wide as there is room.

import type { Message } from '@mailroom/sdk'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { plural } from '#data/format.ts'
import { Button } from '#parts/button.tsx'
import { Notice } from '#parts/notice.tsx'
import { keepFitted } from './fit-frame.ts'

/**
 * Whether the HTML may contain remote images, in linear time. Only decides whether to offer them;
 * the service checks.
 */
const REMOTE_IMAGE =
  /<(?:img|image|source|video|table|td|body|div)\b[^<>]{0,2000}?(?:src|srcset|background|poster|href)\s{0,9}=\s{0,9}["']?\s{0,9}(?:https?:)?\/\/|url\(\s{0,9}["']?\s{0,9}(?:https?:)?\/\//i

type Shown = Pick<Message, 'id' | 'subject' | 'bodyHtml'>

/** Defects other than text that is certainly hidden. */
const NOT_HIDDEN = new Set(['unread-styles', 'unread-html', 'unclear', 'unseen-part', 'utf-7'])

/** How much of a message's text is hidden from its readers, with a button to show it. */
export function HiddenText({ message: { id, subject, hiddenTextParts } }: { message: Message }) {
  const [isShown, setIsShown] = useState(false)
  if (hiddenTextParts.length === 0) return null
  const count = (isWanted: (kind: string) => boolean) =>
    hiddenTextParts.reduce(
      (sum, { kind, characters }) => sum + (isWanted(kind) ? characters : 0),
      0,
    )
  const hidden = count((kind) => !NOT_HIDDEN.has(kind))
  const unclear = count((kind) => kind === 'unclear')
  const has = (wanted: string) => hiddenTextParts.some(({ kind }) => kind === wanted)
  return (
    <>
      <Notice
        tone="warn"
        title={
          hidden > 0
            ? `${plural(hidden, 'character')} hidden from readers`
            : 'Text of this message may be hidden from readers'
        }
        actions={
          hidden + unclear > 0 && (
            <Button icon="eye" isPressed={isShown} onClick={() => setIsShown(!isShown)}>
              Show
            </Button>
          )
        }
      >
        {unclear > 0 && <p>It is not known whether readers see {plural(unclear, 'character')}.</p>}
        {has('unseen-part') && <p>The files include a part that mail programs do not show.</p>}
        {has('utf-7') && <p>Text is encoded in UTF-7, which many programs do not decode.</p>}
        {(has('unread-styles') || has('unread-html')) && (
          <p>Not all HTML and styles were searched for hidden text.</p>
        )}
      </Notice>
      {isShown && (
        <MailFrame
          src={`/v1/messages/${encodeURIComponent(id)}/html?text=hidden`}
          title={`Hidden text of “${subject}”`}
        />
      )}
    </>
  )
}

export function HtmlBody({ message }: { message: Shown }) {
  const [showsImages, setShowsImages] = useState(false)
  const images = showsImages ? 'show' : 'block'
  const hasRemote = useMemo(() => REMOTE_IMAGE.test(message.bodyHtml), [message.bodyHtml])
  return (
    <div class="html-body">
      {hasRemote && !showsImages && (
        <Notice
          tone="calm"
          title="Remote images are blocked"
          actions={
            <Button icon="image" onClick={() => setShowsImages(true)}>
              Show images
            </Button>
          }
        >
          Loading images can reveal to the sender that you opened the message. This service fetches
          them for you.
        </Notice>
      )}
      <MailFrame
        key={images}
        src={`/v1/messages/${encodeURIComponent(message.id)}/html?images=${images}`}
        title={`Message “${message.subject}”`}
      />
    </div>
  )
}

/**
 * The frame has no scripts, so same-origin access is useless to the message but lets this page
 * measure it. Never allow scripts here: with both permissions the message can remove the sandbox.
 */
function MailFrame({ src, title }: { src: string; title: string }) {
  const box = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    if (box.current === null || frame.current === null) return
    return keepFitted(frame.current, box.current)
  }, [])
  return (
    <div ref={box} class="mail-frame">
      <iframe
        ref={frame}
        sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
        src={src}
        title={title}
        referrerpolicy="no-referrer"
      />
    </div>
  )
}
