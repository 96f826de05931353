import { readFileSync } from 'node:fs'
import type { ReplacePolicy } from '@mailroom/contract/policy.ts'
import { readBodyOf } from '#api/api.ts'
import { getPolicy, putPolicy } from '#policy/policy.ts'
import { CommandFailure, OPERATOR, orFailure } from './command.ts'
import { type CommandStore, withStore } from './with-store.ts'

export type PolicyOptions = { account: string; pod?: string; inbox?: string }

export async function showPolicyCommand(options: PolicyOptions): Promise<void> {
  await orFailure(withStore((store) => print(store, options)))
}

/** Prints the resulting policy. The audit records the operator as the author. */
export async function putPolicyCommand(path: string, options: PolicyOptions): Promise<void> {
  const value = readJson(path)
  await orFailure(
    withStore(async (store) => {
      const body = (await readBodyOf('policy.replace', value)) as ReplacePolicy
      await putPolicy(store, { ...policyOf(options), actor: OPERATOR, body })
      await print(store, options)
    }),
  )
}

async function print(store: CommandStore, options: PolicyOptions): Promise<void> {
  const policy = await getPolicy(store, policyOf(options))
  process.stdout.write(`${JSON.stringify(policy, null, 2)}\n`)
}

function policyOf({ account: accountId, pod, inbox }: PolicyOptions) {
  if (pod !== undefined && inbox !== undefined) {
    throw new CommandFailure('give --pod or --inbox, not both.')
  }
  return { accountId, owner: { pod: pod ?? null, inboxId: inbox ?? null } }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandFailure(`${path} cannot be read as JSON: ${why}`)
  }
}
