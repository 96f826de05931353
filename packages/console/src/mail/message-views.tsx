// The technical views of a message, each in a dialog that its menu opens.

import type { Message } from '@mailroom/sdk'
import { Dialog } from '#parts/dialog.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { AgentView, MessageHeaders, MessageSource } from './message-source.tsx'
import { SenderTruth } from './sender-truth.tsx'

const views = {
  'What the agent reads': AgentView,
  'Plain text': ({ message }: { message: Message }) => (
    <div class="mail-text">{message.bodyText || 'This message has no text.'}</div>
  ),
  Deliveries: DeliveryList,
  Authentication: SenderTruth,
  Headers: MessageHeaders,
  Source: MessageSource,
}

export type ViewName = keyof typeof views

export function ViewDialog({
  view,
  message,
  onClose,
}: {
  view: ViewName
  message: Message
  onClose: () => void
}) {
  const View = views[view]
  return (
    <Dialog title={view} onClose={onClose} size="wide">
      <View message={message} />
    </Dialog>
  )
}
