/** An expected failure of a command: what happened, what to do next, and the exit code. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exit: ExitName
  /** What to do next, in one or more sentences. */
  readonly fix: string | null

  constructor(exit: ExitName, message: string, fix: string | null = null) {
    super(message)
    this.exit = exit
    this.fix = fix
  }
}

export const exitCodes = {
  ok: { code: 0, meaning: 'Success.' },
  failed: { code: 1, meaning: 'The command failed for the reason in the message.' },
  usage: { code: 2, meaning: 'Wrong usage of the command.' },
  unauthorized: { code: 3, meaning: 'No key, or the service rejects it.' },
  notFound: { code: 4, meaning: 'Not found.' },
  refused: { code: 5, meaning: 'The service refused the request.' },
  rateLimited: { code: 6, meaning: 'Rate limit exceeded; try again later.' },
  unavailable: { code: 7, meaning: 'The service is unreachable or unavailable.' },
  timeout: { code: 124, meaning: 'Timeout.' },
  interrupted: { code: 130, meaning: 'Interrupted, for example by Ctrl-C.' },
} as const

export type ExitName = keyof typeof exitCodes
