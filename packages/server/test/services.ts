// What the suites of one process share: a service for each engine and set of settings.

export type Closable = { close(): Promise<void> }

const open = new Map<string, Promise<Closable>>()
let users = 0

/** Opens it for the first user of the name; each user calls `release` in the end. */
export function share<Shared extends Closable>(
  name: string,
  make: () => Promise<Shared>,
): Promise<Shared> {
  users += 1
  const shared = open.get(name) ?? make()
  open.set(name, shared)
  return shared as Promise<Shared>
}

/** Counts as a user, so that everything stays open between two suites. */
export function keepShared(): void {
  users += 1
}

/** Closes everything when the last user has released it. */
export async function release(): Promise<void> {
  users -= 1
  if (users > 0) return
  const all = [...open.values()]
  open.clear()
  for (const shared of all) await (await shared).close()
}
