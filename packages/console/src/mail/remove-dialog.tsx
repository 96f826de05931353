// Confirms the permanent removal of threads and lists what will be lost.

import type { Thread } from '@mailroom/sdk'
import { plural, quoteSubject } from '#data/format.ts'
import { ConfirmDialog } from '#parts/dialog.tsx'

export function RemoveDialog({
  threads,
  submit,
  onClose,
}: {
  threads: readonly Thread[]
  submit: () => Promise<unknown>
  onClose: () => void
}) {
  const [first] = threads
  const messages = threads.reduce((sum, { messageCount }) => sum + messageCount, 0)
  const isOne = threads.length === 1 && first !== undefined
  return (
    <ConfirmDialog
      title={
        isOne ? 'Permanently remove this thread?' : `Permanently remove ${threads.length} threads?`
      }
      action={isOne ? 'Remove thread' : 'Remove threads'}
      onClose={onClose}
      submit={submit}
    >
      <p>
        {isOne ? (
          <>
            {quoteSubject(first)} is lost with {plural(messages, 'message')} and all files.
          </>
        ) : (
          <>
            {plural(threads.length, 'thread')} are lost with {plural(messages, 'message')} and all
            files.
          </>
        )}{' '}
        {isOne ? 'It' : 'They'} cannot be restored.
      </p>
    </ConfirmDialog>
  )
}
