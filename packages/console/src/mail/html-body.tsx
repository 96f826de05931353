// The HTML of a message, in a sandboxed frame.

import type { Message } from '@mailroom/sdk'
import { useMemo, useState } from 'preact/hooks'
import { Button } from '#parts/button.tsx'
import { Notice } from '#parts/notice.tsx'

/** Whether the HTML may have remote images, in linear time. Only for the offer to show them; the service decides. */
const REMOTE_IMAGE =
  /<(?:img|image|source|video|table|td|body|div)\b[^<>]{0,2000}?(?:src|srcset|background|poster|href)\s{0,9}=\s{0,9}["']?\s{0,9}(?:https?:)?\/\/|url\(\s{0,9}["']?\s{0,9}(?:https?:)?\/\//i

/** The frame cannot report its height, so it is estimated from the amount of text. */
function sizeOf({ bodyHtml, bodyText }: Shown): 'small' | 'middle' | 'large' {
  const isPlain = !/<(?:table|img)\b/i.test(bodyHtml)
  if (isPlain && bodyHtml.length < 1_500 && bodyText.length < 400) return 'small'
  return bodyHtml.length < 8_000 && bodyText.length < 1_500 ? 'middle' : 'large'
}

type Shown = Pick<Message, 'id' | 'subject' | 'bodyHtml' | 'bodyText'>

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
