// A failure whose message tells everything: what happened, what to do next, and the exit code.

import type { ExitName } from './exit-codes.ts'

export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exit: ExitName
  /** One sentence or more: what to do next. */
  readonly fix: string | null

  constructor(exit: ExitName, message: string, fix: string | null = null) {
    super(message)
    this.exit = exit
    this.fix = fix
  }
}
