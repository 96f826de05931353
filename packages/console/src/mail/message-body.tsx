// The body of a message: as HTML in a frame that may do nothing, or as text.

import type { Message } from '@mailroom/sdk'
import { useMemo, useState } from 'preact/hooks'
import { Button } from '#parts/button.tsx'
import { Notice } from '#parts/notice.tsx'

/** What would be fetched from elsewhere, in linear time; the service decides, this is for offering it. */
const REMOTE_IMAGE =
  /<(?:img|image|source|video|table|td|body|div)\b[^<>]{0,2000}?(?:src|srcset|background|poster|href)\s{0,9}=\s{0,9}["']?\s{0,9}(?:https?:)?\/\/|url\(\s{0,9}["']?\s{0,9}(?:https?:)?\/\//i

/** The frame cannot tell its height: it is guessed from how much there is. */
function sizeOf({ bodyHtml, bodyText }: Message): 'small' | 'middle' | 'large' {
  const isPlain = !/<(?:table|img)\b/i.test(bodyHtml)
  if (isPlain && bodyHtml.length < 1_500 && bodyText.length < 400) return 'small'
  return bodyHtml.length < 8_000 && bodyText.length < 1_500 ? 'middle' : 'large'
}

export function HtmlBody({ message }: { message: Message }) {
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
          Loading them can tell the sender that you opened the message. This service fetches them
          for you.
        </Notice>
      )}
      <iframe
        key={images}
        class={`mail-frame ${sizeOf(message)}`}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        src={`/v1/messages/${encodeURIComponent(message.id)}/html?images=${images}`}
        title={`Message “${message.subject}”`}
        referrerpolicy="no-referrer"
      />
    </div>
  )
}

export function TextBody({ message }: { message: Message }) {
  const [showsAll, setShowsAll] = useState(false)
  const { bodyText, extractedText } = message
  const hasQuote = extractedText !== '' && extractedText.trim() !== bodyText.trim()
  if (bodyText.trim() === '') return <p class="muted">This message has no text.</p>
  return (
    <div class="stack">
      <div class="mail-text">{hasQuote && !showsAll ? extractedText : bodyText}</div>
      {hasQuote && (
        <Button kind="quiet" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Hide quoted text' : 'Show quoted text'}
        </Button>
      )}
    </div>
  )
}
