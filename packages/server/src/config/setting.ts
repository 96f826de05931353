// One entry of the table of settings. Knows its form and words, not which settings there are.

import type { Form } from './forms.ts'

export type Setting<T> = Readonly<{
  name: string
  form: Form<T>
  /** Text as an operator would write it; null when nothing is set then. */
  default: string | null
  /** What stands in the documentation where `default` says too little. */
  defaultMeaning: string
  /** Its value never appears in a message or a log. */
  isSecret: boolean
  sentence: string
}>

type Options = { default: string | null; meaning?: string; isSecret?: boolean }

/** An entry of the table; `meaning` stands in the documentation where the default says too little. */
export function setting<T>(
  name: string,
  form: Form<T>,
  options: Options & { default: string },
  sentence: string,
): Setting<T> & { default: string }
export function setting<T>(
  name: string,
  form: Form<T>,
  options: Options & { default: null },
  sentence: string,
): Setting<T> & { default: null }
export function setting<T>(
  name: string,
  form: Form<T>,
  options: Options,
  sentence: string,
): Setting<T> {
  return {
    name,
    form,
    default: options.default,
    defaultMeaning: options.meaning ?? options.default ?? 'none',
    isSecret: options.isSecret ?? false,
    sentence,
  }
}
