/**
 * Opens several resources. `open` defers the closing of each on the stack. If it rejects, they are closed in
 * reverse order, and this rejects with its reason, whatever closing does. Otherwise the caller closes them
 * with the stack's `disposeAsync`.
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
