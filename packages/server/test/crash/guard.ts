// A shell that cleans up after a test process that was killed.

import { spawn } from 'node:child_process'

/** Ends the guard without its script. */
export type LiftGuard = () => void

/**
 * Runs `script` of the shell, with `values` as $1, $2 and so on, should this process end before the
 * guard is lifted. Does not keep the process alive.
 */
export function guard(script: string, ...values: string[]): LiftGuard {
  const shell = spawn('sh', ['-c', `read -r word && exit 0\n${script}`, 'sh', ...values], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  const { stdin } = shell
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return () => void stdin.end('lifted\n')
}
