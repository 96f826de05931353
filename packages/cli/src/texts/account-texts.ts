// Texts of the command line for operations on the account. They replace those of the API.

import type { Texts } from './operation-text.ts'

const pod = {
  clientId: 'An id of your choice, unique in the account.',
  name: 'A name for people.',
  retentionDays: 'Delete messages this long after they arrive.',
} as const

const domain = {
  podId: 'The only pod that may use the domain; all pods if omitted.',
  subdomainsEnabled: 'Receive mail for all subdomains, such as any.example.com.',
  catchAllInboxId: 'The inbox that gets mail for unknown addresses.',
} as const

const webhook = {
  url: 'An https URL on the public Internet. For one on this machine, use "mailroom listen --forward".',
  headers: 'A header field of every request, as "Name: value". Can be repeated.',
  eventTypes: 'Only events of this kind, such as message.received. Can be repeated.',
  podIds: 'Only events of this pod, in addition to those of --inbox. Can be repeated.',
  inboxIds: 'Only events of this inbox, in addition to those of --pod. Can be repeated.',
  categories:
    'Only received mail of this category; other events are delivered too. Can be repeated.',
  enabled: 'Deliver events.',
} as const

const ofPolicy = {
  podId: 'The policy of this pod.',
  inboxId: 'The policy of this inbox.',
} as const

export const accountTexts: Texts = {
  'account.get': { about: 'Show the account of your key, with its settings.' },
  'account.update': {
    about: 'Change settings of the account. Options that are left out change nothing.',
    fields: {
      filterMode:
        'Accept mail from everyone who is not blocked (none), or only from allowed senders.',
      retentionDays: 'Delete messages this long after they arrive.',
      undoSeconds: 'Delay every send by this long, so that it can be cancelled.',
    },
  },
  'usage.get': {
    about: 'Show how much was sent and received, for the account or for each inbox.',
    fields: {
      from: 'The first day, such as 2026-11-01; 29 days before the last if omitted.',
      to: 'The last day; today if omitted.',
      group_by: 'One line for the account, or one for each inbox.',
    },
  },
  'pods.create': {
    about: 'Create a pod, which separates the inboxes of one customer.',
    fields: pod,
  },
  'pods.list': { about: 'List pods, newest first.' },
  'pods.get': { about: 'Show a pod.' },
  'pods.update': { about: 'Change a pod. Options that are left out change nothing.', fields: pod },
  'pods.delete': { about: 'Delete a pod that has no inboxes.' },
  'exports.list': { about: 'List exports, newest first.' },
  'exports.get': { about: 'Show an export.' },
  'exports.delete': { about: 'Delete an export with its file.' },
  'imports.list': { about: 'List imports, newest first.' },
  'imports.get': { about: 'Show an import.' },
  'domains.create': {
    about: 'Add a domain of your own, and show the DNS records to publish.',
    fields: { ...domain, domain: 'A domain whose DNS records you can change.' },
  },
  'domains.list': {
    about: 'List domains, newest first.',
    fields: { podId: 'Only domains of this pod.' },
  },
  'domains.get': { about: 'Show a domain with its DNS records.' },
  'domains.update': {
    about: 'Change a domain. Options that are left out change nothing.',
    fields: { ...domain, podId: 'The only pod that may use the domain.' },
  },
  'domains.delete': { about: 'Delete a domain that no inbox uses.' },
  'domains.zoneFile': { about: 'Print the DNS records of a domain as lines of a zone file.' },
  'domains.verify': {
    about: 'Check the DNS records of a domain now, once or until they are complete.',
  },
  'webhooks.create': {
    about: 'Deliver events to a URL. The secret that signs them is shown once.',
    fields: webhook,
  },
  'webhooks.list': { about: 'List webhooks, newest first.' },
  'webhooks.get': { about: 'Show a webhook.' },
  'webhooks.update': {
    about: 'Change a webhook. Options that are left out change nothing.',
    fields: webhook,
  },
  'webhooks.delete': { about: 'Delete a webhook.' },
  'webhooks.rotateSecret': {
    about:
      'Replace the secret of a webhook. The new one is shown once; the old one works for 24 hours.',
  },
  'webhooks.test': { about: 'Deliver a test event to a webhook now.' },
  'webhooks.deliveries': {
    about: 'List the deliveries of a webhook in the last 30 days, newest first.',
  },
  'webhooks.getDelivery': {
    about: 'Show a delivery with what was sent and received in each attempt.',
  },
  'webhooks.retryDelivery': { about: 'Attempt a delivery once more, now.' },
  'senderRules.create': {
    about: 'Allow or block a sender, for mail that arrives from now on.',
    fields: {
      type: 'Accept the sender’s mail (allow), or quarantine it (block).',
      value: 'An address, a domain with its subdomains, or *.domain for its subdomains only.',
      podId: 'Only for inboxes of this pod.',
      inboxId: 'Only for this inbox.',
      expiresAt: 'When the rule ends; never if omitted.',
      note: 'A note for people.',
      requireVerified: 'With allow: accept only mail whose sender is verified (the default).',
    },
  },
  'senderRules.list': {
    about: 'List sender rules, newest first.',
    fields: {
      podId: 'Only rules for this pod and its inboxes.',
      inboxId: 'Only rules for this inbox.',
    },
  },
  'senderRules.get': { about: 'Show a sender rule.' },
  'senderRules.delete': { about: 'Remove a sender rule. Mail in quarantine stays there.' },
  'policy.get': {
    about: 'Show the policy that applies to the account, a pod or an inbox.',
    fields: ofPolicy,
  },
  'policy.replace': {
    about:
      'Replace the policy of the account, a pod or an inbox.\nParts that you leave out of a direction return to their defaults.',
    fields: {
      ...ofPolicy,
      inbound: 'Who may write to an inbox, as in "mailroom policy show --json".',
      outbound: 'To whom it may write, and the guards, as in "mailroom policy show --json".',
    },
  },
  'policy.createRule': {
    about: 'Add a rule to the policy of the account, a pod or an inbox.',
    fields: {
      ...ofPolicy,
      direction: 'Whether the rule is for senders (inbound) or recipients (outbound).',
      value: 'An address, a domain with its subdomains, or *.domain for its subdomains only.',
      expiresAt: 'When the rule ends; never if omitted.',
      note: 'A note for people.',
    },
  },
  'policy.deleteRule': { about: 'Remove a rule from a policy.' },
  'policy.audit': { about: 'List the decisions and changes of policies, newest first.' },
  'suppressions.create': {
    about: 'Stop sending to an address.',
    fields: { address: 'The address.' },
  },
  'suppressions.list': {
    about: 'List the addresses that the account does not send to.',
    fields: { address: 'Only this address.' },
  },
  'suppressions.delete': { about: 'Send to an address again.' },
  'reviews.list': {
    about: 'List held mail, newest first. Reviews need the token of an approver.',
    fields: { inboxId: 'Only mail from this inbox.' },
  },
  'reviews.get': { about: 'Show held mail: the reasons, and everything that would be sent.' },
  'reviews.approve': {
    about: 'Approve held mail, which is then sent. The digest proves which version you have read.',
    fields: {
      digest: 'The digest, which "mailroom reviews show" prints.',
      allowRecipients: 'Also allow the recipients in the policy of the inbox from now on.',
    },
  },
  'reviews.edit': {
    about: 'Edit held mail before it is approved. The edited version has a digest of its own.',
    fields: {
      digest: 'The digest of the version that you read.',
      to: 'A new recipient. Can be repeated; replaces all recipients.',
      cc: 'A new copied recipient. Can be repeated; replaces all copied recipients.',
      bcc: 'A new hidden recipient. Can be repeated; replaces all hidden recipients.',
      subject: 'The new subject.',
      body: 'The complete new text, with the part of a quote that should remain.',
      bodyHtml: 'The complete new HTML. Needs --text.',
      format: 'The format of --text. By default, Markdown if the message was sent as Markdown.',
      removeAttachments: 'The name of a file to remove. Can be repeated.',
    },
  },
  'reviews.comment': {
    about: 'Comment on held mail, for the agent and the other approvers.',
    fields: { text: 'The comment.' },
  },
  'reviews.reject': {
    about: 'Reject held mail, so that it is never sent.',
    fields: {
      reason: 'Why, for the agent.',
      includeEqual: 'Also reject the identical messages that are waiting.',
    },
  },
  'approvers.create': {
    about:
      'Create an approver, who decides about held mail. The token is shown once.\nKeep it from the agents whose mail the approver decides about.',
    fields: {
      name: 'A name for people.',
      email: 'Where to report held mail: an address outside this service.',
      webhookUrl: 'Post events about reviews to this https URL. API keys cannot see or change it.',
    },
  },
  'approvers.list': { about: 'List approvers, newest first.' },
  'approvers.delete': {
    about: 'Delete an approver. Only "mailroom admin approver delete" can delete the last one.',
  },
  'connections.list': { about: 'List connected assistants, newest first.' },
  'connections.delete': { about: 'Revoke a connection. Its tokens stop working immediately.' },
  'connections.listSteps': {
    about: 'List the steps of sign-ins of the last seven days, newest first.',
  },
  'connections.listClients': { about: 'List OAuth clients that were created for assistants.' },
  'connections.createClient': {
    about: 'Create an OAuth client, for an assistant that asks for a client id.',
    fields: {
      name: 'The name that the consent page shows.',
      redirectUris: 'Where sign-ins may return to.',
    },
  },
  'connections.deleteClient': { about: 'Delete an OAuth client and its connections.' },
  'apiKeys.create': {
    about: 'Create an API key. The key is shown once.',
    fields: { name: 'A name for people.' },
  },
  'apiKeys.list': { about: 'List API keys, newest first.' },
  'apiKeys.delete': { about: 'Revoke an API key.' },
}
