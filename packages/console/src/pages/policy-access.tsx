// Whether the person who is signed in may change policies, and the reason if not.

import { paths } from '#data/paths.ts'
import { client, isApprover } from '#data/session.ts'
import { useResource } from '#data/use-resource.ts'
import { Notice } from '#parts/notice.tsx'

export type PolicyAccess = 'editable' | 'read-only' | 'no-approver'

/** Undefined until it is known. */
export function usePolicyAccess(): PolicyAccess | undefined {
  const approvers = useResource('whether there is an approver', (signal) =>
    client.approvers.list({ limit: 1, signal }).page(),
  )
  if (isApprover.value) return 'editable'
  // If the list fails, the service still refuses what the person may not change.
  if (approvers.error) return 'editable'
  if (approvers.value === undefined) return undefined
  return approvers.value.total > 0 ? 'read-only' : 'no-approver'
}

export function ReadOnlyPolicy() {
  return (
    <Notice tone="info" title="Only an approver can change this policy">
      Sign in with an approver's token (mra_…), or use{' '}
      <code>mailroom admin account put-policy</code> on the machine of the service.
    </Notice>
  )
}

export function ApproverNeeded() {
  return (
    <Notice tone="info" title="“Ask a person” needs an approver">
      Create one <a href={paths.approvers}>on the Approvers page</a> first. From then on, only an
      approver can change policies.
    </Notice>
  )
}
