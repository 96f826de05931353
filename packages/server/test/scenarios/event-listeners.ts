// Counts the listeners for events in a service and the queries that they cost.

import type { World } from '#test/world.ts'

/** Counts listeners of the service's hub from now on. */
export function watchListeners({ app }: Pick<World, 'app'>) {
  const hub = app.deps.events
  const listen = hub.listen.bind(hub)
  let count = 0
  let wanted: { number: number; reached: PromiseWithResolvers<void> } | null = null
  function change(by: number): void {
    count += by
    if (wanted?.number === count) wanted.reached.resolve()
  }
  hub.listen = async (...parameters) => {
    const listening = await listen(...parameters)
    change(1)
    let isOver = false
    return {
      get offset() {
        return listening.offset
      },
      stop() {
        listening.stop()
        if (!isOver) change(-1)
        isOver = true
      },
    }
  }
  return {
    /** Resolves when there are this many. */
    reach(number: number): Promise<void> {
      const reached = Promise.withResolvers<void>()
      wanted = { number, reached }
      if (count === number) reached.resolve()
      return reached.promise
    },
  }
}

/** Counts queries of the service's reading connections from now on. */
export function countReads({ app }: Pick<World, 'app'>) {
  const { db } = app.deps
  let count = 0
  const executors = new Set([db.read.getExecutor(), db.reading.query.getExecutor()])
  for (const executor of executors) {
    const execute = executor.executeQuery.bind(executor)
    executor.executeQuery = (...parameters) => {
      count += 1
      return execute(...parameters)
    }
  }
  const { runSql } = db.reading
  if (runSql !== null) {
    Object.assign(db.reading, {
      runSql: (...parameters: Parameters<typeof runSql>) => {
        count += 1
        return runSql(...parameters)
      },
    })
  }
  return {
    count: () => count,
    /** The queries of the next milliseconds. */
    async during(durationMs: number): Promise<number> {
      const before = count
      await new Promise((resolve) => setTimeout(resolve, durationMs))
      return count - before
    },
  }
}
