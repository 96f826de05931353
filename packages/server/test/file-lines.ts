// The report of a whole run: for each test file one line instead of every test that passed. What
// failed, was skipped or is still to be done stays in sight.

import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** Condenses the events of a run; told of all files beforehand, it knows which have not run. */
export class FileLines {
  readonly #folder: string
  readonly #unseen: Set<string>
  readonly #groups: ReadonlyMap<string, readonly string[]>
  readonly #failed = new Set<string>()
  #tests = 0
  #passed = 0

  /**
   * The lines name the files as seen from `folder`; `groups` are the modules that run several of them,
   * each with its files.
   */
  constructor(
    files: readonly string[],
    folder: string,
    groups: ReadonlyMap<string, readonly string[]>,
  ) {
    this.#unseen = new Set(files)
    this.#groups = groups
    this.#folder = folder
  }

  /** What to print instead of this event. */
  take(event: TestEvent): TestEvent[] {
    switch (event.type) {
      case 'test:enqueue':
      case 'test:dequeue':
      case 'test:start':
      case 'test:plan':
        return []
      case 'test:pass':
      case 'test:fail':
        return this.#takeResult(event)
      case 'test:summary': {
        const { file, success, duration_ms } = event.data
        if (file === undefined) return [event]
        // The process of a group has no line of its own.
        return this.#unseen.has(file) ? [this.#close(file, success, duration_ms)] : []
      }
      default:
        return [event]
    }
  }

  /** Files of which nothing was heard, as seen from the folder. */
  missing(): string[] {
    return [...this.#unseen].map((file) => relative(this.#folder, file))
  }

  #takeResult(event: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>): TestEvent[] {
    const { name, nesting, details, skip, todo } = event.data
    const isAside = Boolean(skip || todo)
    const didPass = event.type === 'test:pass'
    const shown = didPass && !isAside ? [] : [event]
    const group = this.#groups.get(name)
    if (group !== undefined) return didPass ? [] : [event, ...this.#nameFiles(name, group)]
    if (!didPass && event.data.file !== undefined) this.#failed.add(event.data.file)
    // The suite that a group makes of a file.
    if (details.type === 'suite' && nesting === 0 && this.#unseen.has(name)) {
      return [...shown, this.#close(name, didPass, details.duration_ms)]
    }
    if (details.type !== 'suite') {
      this.#tests += 1
      if (didPass && !isAside) this.#passed += 1
    }
    return shown
  }

  /** What fails after its test has ended, such as a promise that nobody awaits, is of no test. */
  #nameFiles(entry: string, paths: readonly string[]): TestEvent[] {
    if (paths.some((path) => this.#failed.has(path))) return []
    const names = paths.map((path) => `    ${relative(this.#folder, path)}\n`).join('')
    const message = `✖ something failed outside of the tests of one of these:\n${names}`
    return [{ type: 'test:stdout', data: { file: entry, message } }]
  }

  #close(file: string, didPass: boolean, durationMs: number): TestEvent {
    this.#unseen.delete(file)
    const path = relative(this.#folder, file)
    const figures = `${this.#passed} of ${this.#tests}, ${Math.round(durationMs)} ms`
    this.#tests = 0
    this.#passed = 0
    const message = `${didPass ? '✔' : '✖'} ${path} (${figures})\n`
    return { type: 'test:stdout', data: { file, message } }
  }
}
