// Policies: who may write to an inbox, whom it may write to, and what it may send.

import type { Operation } from './operation.ts'
import { countedListOf, pageProperties } from './page.ts'
import { type Static, Type } from './schema.ts'
import { newRuleTerms, ruleTerms } from './sender-rules.ts'
import { HoldReason } from './sending.ts'
import { count, line, nullableCount, nullableText, oneOf, text, time } from './text.ts'
import {
  guardActions,
  POLICY_RULES_MAX,
  policyActors,
  policyDecisions,
  policyDirections,
  policyModes,
  policyScopes,
  senderRuleTypes,
} from './vocabulary.ts'

const VALUE_LENGTH_MAX = 320
const SENDS_PER_HOUR_MAX = 100_000
const ALLOWED_FINDINGS_MAX = 100

const mode = oneOf(
  policyModes,
  'none: everyone except those blocked by a rule. allowlist: only those allowed by a rule. inherit: the mode of the pod, then of the account.',
)

const ruleProperties = {
  id: text('The id.'),
  type: oneOf(senderRuleTypes, 'Whether the rule allows or blocks.'),
  value: text('As in sender rules: an address, a domain with its subdomains, or *. and a domain.'),
  requireVerified: Type.Optional(
    Type.Boolean({ description: 'For allow rules about senders: as in sender rules.' }),
  ),
  ...ruleTerms,
}

export const PolicyRule = Type.Object(ruleProperties, {
  description: 'A rule for senders or recipients.',
})
export type PolicyRule = Static<typeof PolicyRule>

const scopeProperties = {
  podId: nullableText('The pod, or the pod of the inbox. Null for the account.'),
  inboxId: nullableText('The inbox; null for all.'),
}

export const ScopedPolicyRule = Type.Extended(
  PolicyRule,
  {
    direction: oneOf(
      policyDirections,
      'Whether the rule is for senders (inbound) or recipients (outbound).',
    ),
    ...scopeProperties,
  },
  { description: 'A rule, and the policy that it belongs to.' },
)
export type ScopedPolicyRule = Static<typeof ScopedPolicyRule>

const guard = (description: string) => oneOf(guardActions, description)

export const PolicyGuards = Type.Object(
  {
    newRecipients: guard(
      'A recipient who has never written to the inbox or received mail from it, and whom no rule allows.',
    ),
    provenance: guard(
      'A new recipient whose address occurs in received mail of the thread or of the last 30 days, and whom no rule names, which suggests an injected instruction.',
    ),
    outsideThread: guard(
      'In a reply, a recipient who is not in a From or Reply-To field of the thread or in a To or Cc field of a verified author, and whom no rule allows.',
    ),
    secrets: guard(
      'Private keys, API tokens, keys of this service, card numbers or IBANs in any field or file of the message. A message with a file that cannot be read is held.',
    ),
    attachments: guard('Attached files, and data: URIs in the HTML.'),
    maxPerHour: nullableCount('Maximum sends of an inbox per hour; further sends are held.'),
  },
  {
    description:
      'The action for mail that triggers a guard: allow it, hold it for an approver, or reject it. inherit and null use the setting of the pod, then of the account. In the account, inherit means allow, and null means no limit.',
  },
)
export type PolicyGuards = Static<typeof PolicyGuards>

const from = oneOf(policyScopes, 'The policy that contains the setting or rule.')

const allowedFinding = {
  kind: Type.String({
    pattern: '^[a-z0-9_]{1,50}$',
    description: 'The kind of secret, as in findings.',
  }),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs.',
  }),
}

const AllowedFinding = Type.Object(
  { ...allowedFinding, note: ruleTerms.note },
  { description: 'A value that the guard secrets lets pass.' },
)
const applied = Type.Array(ScopedPolicyRule, {
  description:
    'All applicable rules that have not ended; the first match decides. Order: inbox, pod, account; address, longer domain, shorter domain; block, allow.',
})

export const Policy = Type.Object(
  {
    scope: Type.Object(scopeProperties, { description: 'The scope of the policy.' }),
    etag: text(
      'The ETag of inbound and outbound with quotation marks, for If-Match. Wider policies do not change it.',
    ),
    inbound: Type.Object(
      { mode, rules: Type.Array(PolicyRule, { description: 'Newest first.' }) },
      { description: 'Who may write to the inboxes.' },
    ),
    outbound: Type.Object(
      {
        mode,
        rules: Type.Array(PolicyRule, { description: 'Newest first.' }),
        guards: PolicyGuards,
        allowedFindings: Type.Array(AllowedFinding, {
          description: 'Values that the guard secrets lets pass.',
        }),
      },
      { description: 'Whom the inboxes may write to, and what they may send.' },
    ),
    effective: Type.Object(
      {
        inbound: Type.Object({
          mode,
          modeFrom: from,
          rules: applied,
        }),
        outbound: Type.Object({
          mode,
          modeFrom: from,
          rules: applied,
          guards: PolicyGuards,
          guardsFrom: Type.Object(
            {
              newRecipients: from,
              provenance: from,
              outsideThread: from,
              secrets: from,
              attachments: from,
              maxPerHour: from,
            },
            { description: 'The policy that each guard comes from.' },
          ),
          allowedFindings: Type.Array(Type.Object({ ...AllowedFinding.properties, from }), {
            description: 'The values that any of these policies allows, without duplicates.',
          }),
        }),
      },
      {
        description:
          'The effective policy, including the wider policies. It never contains inherit.',
      },
    ),
  },
  { description: 'The policy of an account, a pod or an inbox.' },
)
export type Policy = Static<typeof Policy>

const newRuleProperties = {
  type: ruleProperties.type,
  value: line({ maxLength: VALUE_LENGTH_MAX, description: 'As in sender rules.' }),
  ...newRuleTerms,
}

const newRules = Type.Optional(
  Type.Array(
    Type.Object(
      {
        ...newRuleProperties,
        requireVerified: ruleProperties.requireVerified,
        id: Type.Optional(text('Ignored; an equal rule keeps its id.')),
      },
      { additionalProperties: false },
    ),
    {
      maxItems: POLICY_RULES_MAX,
      description: 'All rules, existing or new. Default: none.',
    },
  ),
)
const newGuard = Type.Optional(oneOf(guardActions, 'As in PolicyGuards.'))
const newMode = Type.Optional(mode)

const ReplacePolicy = Type.Object(
  {
    inbound: Type.Optional(
      Type.Object(
        { mode: newMode, rules: newRules },
        { additionalProperties: false, description: 'Replaces the rules for senders.' },
      ),
    ),
    outbound: Type.Optional(
      Type.Object(
        {
          mode: newMode,
          rules: newRules,
          guards: Type.Optional(
            Type.Object(
              {
                newRecipients: newGuard,
                provenance: newGuard,
                outsideThread: newGuard,
                secrets: newGuard,
                attachments: newGuard,
                maxPerHour: Type.Optional(
                  Type.Unsafe<number | null>({
                    type: ['integer', 'null'],
                    minimum: 0,
                    maximum: SENDS_PER_HOUR_MAX,
                    description: 'As in PolicyGuards.',
                  }),
                ),
              },
              { additionalProperties: false },
            ),
          ),
          allowedFindings: Type.Optional(
            Type.Array(
              Type.Object(
                { ...allowedFinding, note: newRuleTerms.note },
                { additionalProperties: false },
              ),
              {
                maxItems: ALLOWED_FINDINGS_MAX,
                description:
                  'Values that the guard secrets lets pass, under this policy and narrower ones. Default: none.',
              },
            ),
          ),
        },
        {
          additionalProperties: false,
          description: 'Replaces the rules for recipients, the guards and the allowed values.',
        },
      ),
    ),
  },
  { additionalProperties: false },
)
export type ReplacePolicy = Static<typeof ReplacePolicy>

const CreatePolicyRule = Type.Object(
  {
    direction: ScopedPolicyRule.properties.direction,
    ...newRuleProperties,
  },
  { additionalProperties: false },
)

const ScopeQuery = Type.Object({
  podId: Type.Optional(text('Id or clientId of a pod.')),
  inboxId: Type.Optional(text('Id of an inbox.')),
})

const auditRules = (description: string) =>
  Type.Object(
    {
      count: count('The number of rules.'),
      first: Type.Array(Type.Object({ type: ruleProperties.type, value: ruleProperties.value }), {
        description: 'The first hundred rules.',
      }),
    },
    { description },
  )

const PolicyModeChange = Type.Object(
  {
    mode: oneOf(policyModes, 'Treatment of addresses without a rule in this direction.'),
    direction: oneOf(
      policyDirections,
      'Whether the mode is for senders (inbound) or recipients (outbound).',
    ),
  },
  { additionalProperties: false },
)

export const PolicyChange = Type.Object(
  {
    modeBefore: nullableText(
      'The mode before the change. This and the other three fields are null if the change did not affect them.',
    ),
    modeAfter: nullableText('The mode after the change.'),
    guardsBefore: Type.Union([PolicyGuards, Type.Null()]),
    guardsAfter: Type.Union([PolicyGuards, Type.Null()]),
    added: auditRules('Rules that were added.'),
    removed: auditRules('Rules that were removed.'),
    changed: Type.Optional(auditRules('Rules whose end, note or verification was changed.')),
    allowedFindings: Type.Optional(
      Type.Object(
        {
          added: Type.Array(AllowedFinding, { description: 'Values allowed by the change.' }),
          removed: Type.Array(AllowedFinding, { description: 'Values no longer allowed.' }),
        },
        { description: 'The change of allowedFindings, if any.' },
      ),
    ),
  },
  { description: 'A change of a policy.' },
)
export type PolicyChange = Static<typeof PolicyChange>

const PolicyActor = Type.Object({
  kind: oneOf(policyActors, 'The kind of actor; the operator uses commands on the server.'),
  id: nullableText('Id of the key or the approver.'),
})

export const PolicyAuditEntry = Type.Object(
  {
    id: text('The id.'),
    createdAt: time('When the decision or change was made.'),
    direction: ScopedPolicyRule.properties.direction,
    decision: oneOf(
      policyDecisions,
      'For mail: sent while a policy applied (allow), held for an approver, refused (reject) or quarantined. For held mail: approved, rejected or expired. Otherwise a change of the policy or the approvers, or an erasure.',
    ),
    ...scopeProperties,
    messageId: nullableText(
      'The id of the message; for quarantined mail, its quarantine id. Null if there is no message.',
    ),
    sender: nullableText('The From field of quarantined mail.'),
    recipients: Type.Array(Type.String(), {
      description: 'The recipients, if the entry is about mail.',
    }),
    reasons: Type.Array(HoldReason, {
      description: 'The reasons for the decision, if the entry is about mail.',
    }),
    actor: Type.Union([PolicyActor, Type.Null()], {
      description:
        'Who made the decision or change; null if the policy decided or the review expired.',
    }),
    change: Type.Union([PolicyChange, Type.Null()], {
      description: 'The change, if a policy was changed.',
    }),
    reviewId: nullableText('The review, if held mail was decided.'),
    note: nullableText('The reason given for the decision about held mail, if any.'),
    approver: Type.Union(
      [
        Type.Object({
          id: text('The id of the approver.'),
          name: text('The name of the approver.'),
        }),
        Type.Null(),
      ],
      { description: 'The approver that was created or deleted.' },
    ),
    erasureId: nullableText('The erasure that was requested.'),
  },
  { description: 'A policy decision or a policy change.' },
)
export type PolicyAuditEntry = Static<typeof PolicyAuditEntry>

export const policyOperations = {
  'policy.get': {
    method: 'GET',
    path: '/v1/policy',
    tag: 'Policy',
    summary: 'Get the policy of the account, a pod or an inbox.',
    notes:
      'Without podId and inboxId, returns the policy of the account. The narrower policy takes precedence over the wider one.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: ScopeQuery,
    hasEtag: true,
    success: { status: 200, description: 'The policy.', schema: Policy },
    errors: ['not_found'],
  },
  'policy.replace': {
    method: 'PUT',
    path: '/v1/policy',
    tag: 'Policy',
    summary: 'Replace the policy of the account, a pod or an inbox.',
    notes: [
      'Replaces each direction in the body as a whole; omitted fields get their defaults. The change applies to mail from now on; the last of several concurrent requests wins.',
      'With If-Match, the request is refused with policy_changed unless the policy still has this ETag, so that it cannot undo a concurrent change.',
      'The rules and the mode for senders of the account are the same as its sender rules and its filterMode.',
    ].join('\n\n'),
    auth: 'key-or-approver',
    isRateLimited: true,
    query: ScopeQuery,
    body: ReplacePolicy,
    hasEtag: true,
    takesIfMatch: true,
    success: { status: 200, description: 'The updated policy.', schema: Policy },
    errors: [
      'not_found',
      'approver_required',
      'no_approver',
      'policy_changed',
      'sender_rule_limit_reached',
      'recipient_rule_limit_reached',
    ],
  },
  'policy.setMode': {
    method: 'PUT',
    path: '/v1/policy/mode',
    tag: 'Policy',
    summary: 'Change the mode of one direction of a policy.',
    notes: 'Rules and guards are unchanged.',
    isForOtherClients: true,
    auth: 'key-or-approver',
    isRateLimited: true,
    query: ScopeQuery,
    body: PolicyModeChange,
    hasEtag: true,
    success: { status: 200, description: 'The updated policy.', schema: Policy },
    errors: ['not_found', 'approver_required', 'no_approver', 'policy_changed'],
  },
  'policy.createRule': {
    method: 'POST',
    path: '/v1/policy/rules',
    tag: 'Policy',
    summary: 'Add a rule to the policy of the account, a pod or an inbox.',
    notes:
      'If the policy already has a rule of this type and value, it is returned with expiresAt and note updated.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: ScopeQuery,
    body: CreatePolicyRule,
    success: { status: 201, description: 'The rule.', schema: ScopedPolicyRule },
    errors: [
      'not_found',
      'approver_required',
      'sender_rule_limit_reached',
      'recipient_rule_limit_reached',
    ],
  },
  'policy.deleteRule': {
    method: 'DELETE',
    path: '/v1/policy/rules/{id}',
    tag: 'Policy',
    summary: 'Remove a rule of any policy of the account.',
    auth: 'key-or-approver',
    isRateLimited: true,
    parameters: { id: 'The id of a rule.' },
    success: { status: 204, description: 'The rule is removed.' },
    errors: ['approver_required'],
  },
  'policy.audit': {
    method: 'GET',
    path: '/v1/policy/audit',
    tag: 'Policy',
    summary: 'List policy decisions and changes.',
    notes:
      'Newest first, for 90 days. Entries are kept when their inbox is deleted. There is no entry for mail that reached an inbox, or for mail sent while no policy applied.',
    auth: 'key-or-approver',
    isRateLimited: true,
    query: Type.Object({
      since: Type.Optional(time('Only entries from this time on.')),
      until: Type.Optional(time('Only entries before this time.')),
      direction: Type.Optional(oneOf(policyDirections, 'Only entries of this direction.')),
      decision: Type.Optional(oneOf(policyDecisions, 'Only entries with this decision.')),
      ...pageProperties,
    }),
    success: {
      status: 200,
      description: 'A page of the audit.',
      schema: countedListOf(PolicyAuditEntry, 'A page of the audit.'),
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
