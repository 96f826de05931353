// Confirms permanent removal of threads and says what will be lost.

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
      title={isOne ? 'Remove this thread for good?' : `Remove ${threads.length} threads for good?`}
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
        Nobody can restore {isOne ? 'it' : 'them'}.
      </p>
    </ConfirmDialog>
  )
}
