/**
 * Every error code of the API. `sentence` is the general meaning of a code, which the `message` of
 * a response may refine; `fix` is what the caller can do next.
 */
export const errorCodes = {
  bad_request: {
    status: 400,
    sentence: 'The request is malformed, or a field is missing, unknown or out of range.',
    fix: 'Correct what message describes, and send the request again.',
  },
  invalid_query: {
    status: 400,
    sentence: 'The search query is invalid.',
    fix: 'Correct the part named in message. Dates in before: and after: are YYYY-MM-DD or ISO 8601 times, and has: supports attachment.',
  },
  invalid_mailbox_name: {
    status: 400,
    sentence: 'The mailbox name breaks the format rules.',
    fix: 'Use 3 to 30 lower-case letters, digits, dots and hyphens, beginning and ending with a letter or digit, without two dots in a row.',
  },
  invalid_pod: {
    status: 400,
    sentence: 'The account has no pod with this id or clientId.',
    fix: 'Use the id or clientId of a pod from GET /v1/pods. Without the field, an inbox is created in the default pod, and a webhook delivers the events of all pods.',
  },
  invalid_domain: {
    status: 400,
    sentence: 'The domain name is invalid, or the inbox cannot use this domain.',
    fix: 'To add a domain, give a name under a public suffix that you can publish DNS records for. For an inbox, give a verified domain of the account that the pod may use.',
  },
  missing_idempotency_key: {
    status: 400,
    sentence: 'Sending requires the Idempotency-Key header.',
    fix: 'Add the header Idempotency-Key with a new UUID for each message.',
  },
  no_webhook_url: {
    status: 400,
    sentence: 'The inbox has no webhookUrl.',
    fix: 'Set webhookUrl with PATCH /v1/inboxes/{id} first.',
  },
  unauthorized: {
    status: 401,
    sentence: 'The bearer credential is missing or invalid.',
    fix: 'Send the header Authorization: Bearer <key> with an active key of the account.',
  },
  forbidden: {
    status: 403,
    sentence: 'The token of an approver cannot be used for this request.',
    fix: 'Use an API key of the account.',
  },
  approver_required: {
    status: 403,
    sentence: 'Only an approver may do this.',
    fix: 'Ask a person who approves mail of this account. An API key cannot do this, and retrying does not help.',
  },
  forbidden_origin: {
    status: 403,
    sentence: 'A session of the console cannot be used from a page of another origin.',
    fix: 'Open the console itself, or send the header Authorization: Bearer <key>.',
  },
  invalid_csrf_token: {
    status: 403,
    sentence: 'The header X-CSRF-Token is missing or does not match the session.',
    fix: 'Send the csrfToken from GET /auth/session, or use the header Authorization: Bearer <key>.',
  },
  feature_requires_paid_plan: {
    status: 403,
    sentence: 'The plan of the account does not include this feature.',
    fix: 'Omit the feature, or ask the operator to change the plan with `mailroom admin account set-plan`.',
  },
  scoped_keys_not_supported: {
    status: 403,
    sentence: 'An API key covers the whole account; it cannot be limited to an inbox or a pod.',
    fix: 'Keep using your current key, or create another key for the account with POST /v1/api-keys.',
  },
  recipient_not_permitted: {
    status: 403,
    sentence: 'The policy of the inbox does not permit this recipient.',
    fix: 'Remove the recipient, or ask a person who may change the policy. Sending again does not help.',
  },
  content_not_permitted: {
    status: 403,
    sentence: 'The policy of the inbox does not permit this content.',
    fix: 'Remove the content named in findings and message, or ask a person who may change the policy. Sending again does not help.',
  },
  invalid_signature: {
    status: 403,
    sentence: 'The signed URL is incomplete, altered or expired.',
    fix: 'Get the message again and use its new url.',
  },
  not_found: {
    status: 404,
    sentence: 'The account has no such resource, or the API has no such route.',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'The path does not support this method.',
    fix: 'Use a method from the Allow header.',
  },
  request_timeout: {
    status: 408,
    sentence: 'The request did not arrive in time.',
    fix: 'Send the whole request without pauses.',
  },
  client_id_taken: {
    status: 409,
    sentence:
      'Another pod or inbox of the account, or another draft of the inbox, has this clientId.',
    fix: 'Choose another clientId, or use the pod, inbox or draft that has it.',
  },
  address_taken: {
    status: 409,
    sentence: 'The address is in use or reserved.',
    fix: 'Choose another mailboxName, or omit it for a random one.',
  },
  domain_taken: {
    status: 409,
    sentence: 'The domain belongs to another account, or has already been added to this one.',
    fix: 'If GET /v1/domains lists the domain, use that one. If another account has it, delete it there first.',
  },
  domain_in_use: {
    status: 409,
    sentence: 'Another pod has an inbox on this domain.',
    fix: 'Delete the inboxes on the domain in other pods, or let all pods use the domain.',
  },
  domain_not_empty: {
    status: 409,
    sentence: 'The domain still has inboxes.',
    fix: 'Delete the inboxes on the domain first.',
  },
  pod_not_empty: {
    status: 409,
    sentence: 'The pod still has inboxes.',
    fix: 'Delete the inboxes of the pod first.',
  },
  pod_has_domains: {
    status: 409,
    sentence: 'The pod still has domains.',
    fix: 'Delete the domains of the pod first, or let all pods use them.',
  },
  default_pod: {
    status: 409,
    sentence: 'The default pod cannot be deleted.',
  },
  upload_link_used: {
    status: 409,
    sentence: 'The link takes one file, and has been used.',
    fix: 'Attach the file with the id of the upload, or create another link with POST /v1/uploads/links.',
  },
  no_approver: {
    status: 409,
    sentence: 'A guard can hold mail only in an account with an approver.',
    fix: 'Create an approver with POST /v1/approvers first, or choose reject instead of hold.',
  },
  last_approver: {
    status: 409,
    sentence: 'The last approver of an account can be deleted only by the operator.',
    fix: 'Create another approver first, or ask the operator of the service.',
  },
  last_api_key: {
    status: 409,
    sentence: 'The last active key of an account cannot be revoked.',
    fix: 'Create another key and switch to it first.',
  },
  delivery_pending: {
    status: 409,
    sentence: 'The delivery is still pending.',
    fix: 'Wait until it has succeeded or failed; nextAttemptAt is the time of the next attempt.',
  },
  thread_trashed: {
    status: 409,
    sentence: 'The thread is in the trash, so it cannot be claimed, and nothing can be sent in it.',
    fix: 'Restore it with POST /v1/threads/{id}/restore first, or omit threadId to start a new thread.',
  },
  webhook_is_disabled: {
    status: 409,
    sentence: 'The webhook is disabled, so nothing is delivered to it.',
    fix: 'Enable the webhook with PATCH /v1/webhooks/{id} first, then retry the delivery.',
  },
  thread_claimed: {
    status: 409,
    sentence: 'Another worker has claimed the thread.',
    fix: 'Choose another thread, or try again after expiresAt, when the claim ends unless its worker renews it.',
  },
  address_erased: {
    status: 409,
    sentence: 'An erasure ended the import during its upload.',
    fix: 'Import the file again. The erasure does not remove data about the address from a file imported later.',
  },
  lease_lost: {
    status: 409,
    sentence: 'The thread is claimed, and the Lease-Token does not belong to its claim.',
    fix: 'Stop working on this thread: your lease has expired or was released, or another worker has the thread. Claim it again before you change anything.',
  },
  draft_changed: {
    status: 412,
    sentence: 'The draft has changed since the version in If-Match.',
    fix: 'Get the draft, check your change against it, and repeat the request with its new ETag.',
  },
  policy_changed: {
    status: 412,
    sentence: 'The policy has changed since the version in If-Match.',
    fix: 'Get the policy, check your change against it, and repeat the request with its new ETag.',
  },
  payload_too_large: {
    status: 413,
    sentence: 'The request body is larger than this route accepts.',
    fix: 'Send a smaller body.',
  },
  uri_too_long: {
    status: 414,
    sentence: 'The request URL is too long.',
    fix: 'Shorten the path.',
  },
  unsupported_media_type: {
    status: 415,
    sentence: 'The content type of the request body is not supported.',
    fix: 'Use a content type that the operation accepts, usually application/json, without Content-Encoding.',
  },
  range_not_satisfiable: {
    status: 416,
    sentence: 'The requested range is outside the content.',
    fix: 'Request a range within the size in Content-Range.',
  },
  inbox_limit_reached: {
    status: 422,
    sentence: 'The account has reached the inbox limit of its plan.',
    fix: 'Delete an inbox, or ask the operator to change the plan with `mailroom admin account set-plan`.',
  },
  pod_limit_reached: {
    status: 422,
    sentence: 'The account has reached the limit of 10,000 pods.',
    fix: 'Delete unused pods with DELETE /v1/pods/{idOrClientId}. This limit cannot be changed.',
  },
  suppression_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of 100,000 added suppressions.',
    fix: 'Delete suppressions that are no longer needed with DELETE /v1/suppressions/{address}. This limit cannot be changed.',
  },
  approver_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of approvers.',
    fix: 'Delete an approver who is no longer needed with DELETE /v1/approvers/{id}. This limit cannot be changed.',
  },
  review_limit_reached: {
    status: 422,
    sentence: 'The review has reached its limit of edits or comments.',
    fix: 'Decide with POST /v1/reviews/{id}/approve or POST /v1/reviews/{id}/reject. This limit cannot be changed.',
  },
  api_key_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of active API keys.',
    fix: 'Revoke an unused key with DELETE /v1/api-keys/{id}. This limit cannot be changed.',
  },
  connection_client_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of OAuth clients.',
    fix: 'Delete an unused client with DELETE /v1/connections/clients/{id}. This limit cannot be changed.',
  },
  draft_limit_reached: {
    status: 422,
    sentence: 'The inbox has reached its limit of drafts, or the draft its limit of files.',
    fix: 'Send drafts, or delete them with DELETE /v1/drafts/{id}. This limit cannot be changed.',
  },
  transfer_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of exports, imports or erasures in progress.',
    fix: 'Wait until one of them has finished: GET /v1/exports, GET /v1/imports and GET /v1/erasures/{id} return their states. This limit cannot be changed.',
  },
  upload_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of uploads.',
    fix: 'Delete uploads that are no longer needed with DELETE /v1/uploads/{id}, or wait until they expire, 24 hours after they arrived.',
  },
  storage_quota_reached: {
    status: 422,
    sentence: 'The storage of the account is full.',
    fix: 'Delete mail that is no longer needed, or ask the operator to raise MAILROOM_LIMIT_STORED_BYTES_PER_ACCOUNT.',
  },
  label_limit_reached: {
    status: 422,
    sentence: 'The change would exceed the number of labels allowed on a thread or message.',
    fix: 'Remove labels that are no longer needed with PATCH /v1/threads/{id} or PATCH /v1/messages/{id}. This limit cannot be changed.',
  },
  metadata_limit_reached: {
    status: 422,
    sentence: 'The change would exceed the number of metadata keys allowed.',
    fix: 'Remove keys that are no longer needed by setting them to null with PATCH /v1/threads/{id} or PATCH /v1/inboxes/{id}. This limit cannot be changed.',
  },
  invalid_webhook_url: {
    status: 422,
    sentence: 'The URL cannot be used for a webhook.',
    fix: 'Use an absolute https URL of a public host, on port 443 or 80, without a user name.',
  },
  domain_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of domains.',
    fix: 'Delete an unused domain with DELETE /v1/domains/{id}. This limit cannot be changed.',
  },
  sender_rule_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of sender rules.',
    fix: 'Delete rules with DELETE /v1/sender-rules/{id}, or replace rules for many addresses of a domain by one rule for the domain. This limit cannot be changed.',
  },
  recipient_rule_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of rules for recipients.',
    fix: 'Delete rules with DELETE /v1/policy/rules/{id}, or replace rules for many addresses of a domain by one rule for the domain. This limit cannot be changed.',
  },
  webhook_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of webhooks.',
    fix: 'Delete an unused webhook with DELETE /v1/webhooks/{id}. This limit cannot be changed.',
  },
  idempotency_key_reused: {
    status: 422,
    sentence: 'The Idempotency-Key was already used for a different request.',
    fix: 'Use a new key for each message, and repeat a key only with the same request.',
  },
  recipient_suppressed: {
    status: 422,
    sentence: 'A recipient is on the suppression list of the account.',
    fix: 'Remove the recipient, or delete the suppression if you know that the address works.',
  },
  upgrade_required: {
    status: 426,
    sentence: 'This path accepts WebSocket connections only.',
    fix: 'Connect with a WebSocket client.',
  },
  no_text: {
    status: 422,
    sentence: 'No text can be extracted from the attachment.',
    fix: 'See message for the reason. The file itself is at GET /v1/attachments/{messageId}/{filename}.',
  },
  rate_limit_exceeded: {
    status: 429,
    sentence: 'Too many requests.',
    fix: 'Repeat the request after the number of seconds in Retry-After.',
  },
  cold_outreach_limit: {
    status: 429,
    sentence: 'Too many messages to recipients who have never written to this inbox.',
    fix: 'Repeat the request after the number of seconds in Retry-After. The operator can change the limits with MAILROOM_LIMIT_COLD_PER_DAY and MAILROOM_LIMIT_COLD_ACCOUNT_PER_DAY.',
  },
  review_changed: {
    status: 409,
    sentence: 'The digest does not match the pending message.',
    fix: 'Read the review again: digest in this response is the current one. Approve only content that you have read.',
  },
  review_decided: {
    status: 409,
    sentence: 'The review has already been decided.',
    fix: 'There is nothing to do. GET /v1/reviews/{id} returns the decision.',
  },
  no_invitation: {
    status: 409,
    sentence: 'The message has no invitation that can be answered.',
    fix: 'Answer a received message with an entry in extracted.invites whose method is request, and which has a uid and an organizer.',
  },
  invitation_cancelled: {
    status: 409,
    sentence: 'The message cancels the event, so it cannot be answered.',
    fix: 'There is nothing to do.',
  },
  not_invited: {
    status: 409,
    sentence: 'The address of the inbox is not among the attendees of the invitation.',
    fix: 'Write to the organizer with POST /v1/inboxes/{id}/send instead, or answer from the invited inbox.',
  },
  organizer_unverified: {
    status: 409,
    sentence: 'The organizer of the invitation is not the verified author of the message.',
    fix: 'The invitation may be forged, so the answer could go to a stranger. If you trust it, write to the organizer with POST /v1/inboxes/{id}/send.',
  },
  already_sending: {
    status: 409,
    sentence: 'The message cannot be cancelled, because its delivery has begun or finished.',
    fix: 'There is nothing to do. GET /v1/messages/{id}/deliveries returns the outcome.',
  },
  loop_suspected: {
    status: 429,
    sentence: 'Two programs seem to be replying to each other in this thread.',
    fix: 'Stop replying automatically in this thread. Sending in it is allowed again after the number of seconds in Retry-After.',
  },
  header_fields_too_large: {
    status: 431,
    sentence: 'The header fields of the request are larger than the service accepts.',
    fix: 'Send fewer or shorter header fields.',
  },
  internal_error: {
    status: 500,
    sentence: 'An internal error occurred; the request had no effect.',
    fix: 'Retry the request; if it fails again, report the requestId.',
  },
  webhook_failed: {
    status: 502,
    sentence: 'The receiver did not respond to the test with a 2xx status.',
    fix: 'Read message to see what happened, fix the receiver and test again.',
  },
  image_unavailable: {
    status: 502,
    sentence: 'The host of the image did not return a displayable image.',
    fix: 'Show the message without it, or try again later.',
  },
  service_unavailable: {
    status: 503,
    sentence: 'The service is temporarily unavailable; the request had no effect.',
    fix: 'Repeat the request after the number of seconds in Retry-After.',
  },
} as const satisfies Record<string, { status: number; sentence: string; fix?: string }>

export type ErrorCode = keyof typeof errorCodes
