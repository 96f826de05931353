/** If `open` rejects, closes what it has deferred on the stack. Otherwise the caller closes it. */
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
