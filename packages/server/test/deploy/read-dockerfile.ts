// Parses a Dockerfile into its stages and their instructions. Throws at forms that ours does not use, so that nothing
// is ignored.

export type Instruction = {
  readonly keyword: string
  /** The text as written, with continued lines joined. */
  readonly text: string
  /** Flags such as `--from=build`. */
  readonly flags: Readonly<Record<string, string>>
  /** Its words, of the exec form or split at spaces. */
  readonly words: readonly string[]
  readonly isExecForm: boolean
}

export type Stage = {
  readonly name: string
  /** An image, or the name of an earlier stage. */
  readonly base: string
  readonly instructions: readonly Instruction[]
}

const KNOWN =
  /^(FROM|RUN|COPY|WORKDIR|ENV|VOLUME|EXPOSE|USER|STOPSIGNAL|HEALTHCHECK|ENTRYPOINT|CMD)$/

/** The stages in their order. Throws at an unknown instruction. */
export function readDockerfile(text: string): Stage[] {
  const stages: (Stage & { instructions: Instruction[] })[] = []
  for (const line of logicalLines(text)) {
    const instruction = readInstruction(line)
    if (instruction.keyword === 'FROM') {
      const [base = '', as, name] = instruction.words
      if (as?.toUpperCase() !== 'AS' || name === undefined) throw new Error(`no name: ${line}`)
      stages.push({ name, base, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (stage === undefined) throw new Error(`before the first FROM: ${line}`)
      stage.instructions.push(instruction)
    }
  }
  return stages
}

/** Without comments, which may stand between continued lines. */
function logicalLines(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
}

function readInstruction(line: string): Instruction {
  const [, keyword = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  if (!KNOWN.test(keyword)) throw new Error(`not known: ${line}`)
  const flags: Record<string, string> = {}
  const text = rest.replace(/^(--[a-z-]+=\S+\s+)+/, (all) => {
    for (const flag of all.trim().split(/\s+/)) {
      const [name = '', value = ''] = flag.slice(2).split('=')
      flags[name] = value
    }
    return ''
  })
  const isExecForm = text.replace(/^CMD\s+/, '').startsWith('[')
  const words = isExecForm
    ? (JSON.parse(text.replace(/^CMD\s+/, '')) as string[])
    : text.trim().split(/\s+/)
  return { keyword, text, flags, words, isExecForm }
}

/** `NAME=value` pairs of ENV, whose values here have no spaces. */
export function readEnv({ words }: Instruction): Record<string, string> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=')
      return [word.slice(0, at), word.slice(at + 1)]
    }),
  )
}
