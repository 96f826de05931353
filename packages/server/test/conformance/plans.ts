// The plans that the database makes for the statements of the service.

import { sql } from 'kysely'
import type { Db } from '#store/tables.ts'

/** The statements that `run` sends, recorded. */
async function statementsOf(db: Db, run: () => Promise<unknown>) {
  const statements: { sql: string; parameters: readonly unknown[] }[] = []
  const executor = db.read.getExecutor()
  const execute = executor.executeQuery.bind(executor)
  executor.executeQuery = (query, ...rest) => {
    statements.push(query)
    return execute(query, ...rest)
  }
  try {
    await run()
  } finally {
    executor.executeQuery = execute
  }
  return statements
}

/** Each step of the plan that reads rows, with its index condition. */
export async function plansOf(db: Db, run: () => Promise<unknown>): Promise<string[]> {
  const plans: string[] = []
  for (const { sql: text, parameters } of await statementsOf(db, run)) {
    const explain = db.engine === 'sqlite' ? 'explain query plan' : 'explain (analyze, costs off)'
    const query = { ...sql.raw(text).compile(db.read), parameters, sql: `${explain} ${text}` }
    const { rows } = await db.read.executeQuery<Record<string, string>>(query)
    plans.push(rows.map((row) => row.detail ?? row['QUERY PLAN']).join('\n'))
  }
  return plans
}
