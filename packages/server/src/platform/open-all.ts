// Opening several things of which one may fail, without leaving the others open.

/**
 * What `open` resolves with, once it has deferred on the stack how each thing that it opened is closed. Should
 * it reject, they are closed, the last one first, and this rejects for its reason, whatever a closing
 * says. Otherwise the stack is the caller's: what was opened is closed by `disposeAsync`.
 */
export async function openAll<Opened>(
  open: (opened: AsyncDisposableStack) => Promise<Opened>,
): Promise<Opened> {
  const opened = new AsyncDisposableStack()
  try {
    return await open(opened)
  } catch (error) {
    await opened.disposeAsync().catch(() => {})
    throw error
  }
}
