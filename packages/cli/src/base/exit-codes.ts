// What the exit code of a command says: one table for the program, its help and its documentation.

export const exitCodes = {
  ok: { code: 0, meaning: 'It was done.' },
  failed: { code: 1, meaning: 'It failed; what is written says why.' },
  usage: { code: 2, meaning: 'The command was written wrongly.' },
  unauthorized: { code: 3, meaning: 'There is no key, or the service does not take it.' },
  notFound: { code: 4, meaning: 'There is no such thing.' },
  refused: { code: 5, meaning: 'The service refused the request.' },
  rateLimited: { code: 6, meaning: 'Too much was asked for in too short a time; try later.' },
  unavailable: { code: 7, meaning: 'The service cannot be reached or cannot answer now.' },
  timeout: { code: 124, meaning: 'The time to wait was over.' },
  interrupted: { code: 130, meaning: 'It was interrupted, as by Ctrl-C.' },
} as const

export type ExitName = keyof typeof exitCodes
