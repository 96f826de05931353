// Every code of an error body with its status and sentence. Knows what a code means to a caller, not when
// the service says it.

/**
 * Every code that an error body can carry. `sentence` says what it means; the `message` of a real
 * answer may say more. `fix`, where present, is what a caller can do next.
 */
export const errorCodes = {
  bad_request: {
    status: 400,
    sentence: 'The request is malformed, or a field is missing, unknown or out of range.',
    fix: 'Correct what message and details name, and send the request again.',
  },
  invalid_mailbox_name: {
    status: 400,
    sentence: 'The mailbox name breaks the format rules.',
    fix: 'Use 3 to 30 lower-case letters, digits, dots and hyphens, beginning and ending with a letter or digit, without two dots in a row.',
  },
  invalid_pod: {
    status: 400,
    sentence: 'A pod that the request names is none of the account.',
    fix: 'Name pods by the id or clientId that GET /v1/pods lists, or leave the field out: an inbox then goes to the default pod, and a webhook or a reader of events gets those of all pods.',
  },
  invalid_domain: {
    status: 400,
    sentence: 'The domain cannot be used as it is named, or not for this inbox.',
    fix: 'Name a domain under a public suffix that you can publish DNS records for; for an inbox, one that is verified and belongs to the account and to the pod.',
  },
  missing_idempotency_key: {
    status: 400,
    sentence: 'A send needs the Idempotency-Key header.',
    fix: 'Send a header Idempotency-Key with a new UUID for each message.',
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
  forbidden_origin: {
    status: 403,
    sentence: 'A session of the console cannot be used from a page of another origin.',
    fix: 'Open the console itself, or send the header Authorization: Bearer <key>.',
  },
  invalid_csrf_token: {
    status: 403,
    sentence: 'The header X-CSRF-Token is missing or not that of the session.',
    fix: 'Send the csrfToken that GET /auth/session answers, or use the header Authorization: Bearer <key>.',
  },
  feature_requires_paid_plan: {
    status: 403,
    sentence: 'The plan of the account does not include this feature.',
    fix: 'Leave the feature out or change the plan.',
  },
  scoped_keys_not_supported: {
    status: 403,
    sentence: 'Keys are of the whole account; there are none for one inbox or one pod.',
    fix: 'Keep the key that you have, or make another one of the account with POST /v1/api-keys.',
  },
  invalid_signature: {
    status: 403,
    sentence: 'The signed URL is altered, incomplete or expired.',
    fix: 'Read the message again and use the fresh url.',
  },
  not_found: {
    status: 404,
    sentence: 'There is no such resource in the account, or no such route.',
  },
  method_not_allowed: {
    status: 405,
    sentence: 'The path exists, but not with this method.',
    fix: 'Use one of the methods named in the Allow header.',
  },
  request_timeout: {
    status: 408,
    sentence: 'The request did not arrive in time.',
    fix: 'Send the whole request without pauses.',
  },
  client_id_taken: {
    status: 409,
    sentence: 'Another pod of the account has this clientId.',
    fix: 'Choose another clientId, or use the pod that has it.',
  },
  address_taken: {
    status: 409,
    sentence: 'The address is in use or reserved.',
    fix: 'Choose another mailboxName, or leave it out for a random one.',
  },
  domain_taken: {
    status: 409,
    sentence: 'The domain belongs to another account, or the account has it already.',
    fix: 'Use the domain that GET /v1/domains lists; if it is yours and another account has it, have it deleted there.',
  },
  domain_in_use: {
    status: 409,
    sentence: 'An inbox on the domain lives outside the pod.',
    fix: 'Delete the inboxes on the domain that are in other pods, or leave the domain account-wide.',
  },
  domain_not_empty: {
    status: 409,
    sentence: 'The domain still has inboxes.',
    fix: 'Delete the inboxes on the domain first.',
  },
  pod_not_empty: {
    status: 409,
    sentence: 'The pod still holds inboxes.',
    fix: 'Delete the inboxes of the pod first.',
  },
  pod_has_domains: {
    status: 409,
    sentence: 'The pod still owns domains.',
    fix: 'Delete the domains scoped to the pod or make them account-wide first.',
  },
  default_pod: {
    status: 409,
    sentence: 'The default pod cannot be deleted.',
  },
  last_api_key: {
    status: 409,
    sentence: 'The last active key of an account cannot be revoked.',
    fix: 'Create another key and switch to it first.',
  },
  delivery_pending: {
    status: 409,
    sentence: 'The delivery is still pending.',
    fix: 'Wait until it has succeeded or failed; nextAttemptAt says when it is tried.',
  },
  webhook_is_disabled: {
    status: 409,
    sentence: 'The webhook is disabled, and nothing is delivered to it.',
    fix: 'Send PATCH /v1/webhooks/{id} with enabled true first, then retry the delivery.',
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
    fix: 'Send a media type that the operation names, mostly application/json, and no Content-Encoding.',
  },
  range_not_satisfiable: {
    status: 416,
    sentence: 'The requested range lies outside the content.',
    fix: 'Ask for a range within the size named by Content-Range.',
  },
  inbox_limit_reached: {
    status: 422,
    sentence: 'The account has reached the inbox limit of its plan.',
    fix: 'Delete an inbox or change the plan.',
  },
  api_key_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of active API keys.',
    fix: 'Revoke a key that is no longer used.',
  },
  invalid_webhook_url: {
    status: 422,
    sentence: 'The URL cannot be used for a webhook.',
    fix: 'Give an absolute https URL of a public host, on port 443 or 80 and without user name.',
  },
  domain_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of domains.',
    fix: 'Delete a domain that is no longer used.',
  },
  sender_rule_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of sender rules.',
    fix: 'Delete rules that are no longer needed, or name domains instead of addresses.',
  },
  webhook_limit_reached: {
    status: 422,
    sentence: 'The account has reached its limit of webhooks.',
    fix: 'Delete a webhook that is no longer used.',
  },
  idempotency_key_reused: {
    status: 422,
    sentence: 'The Idempotency-Key was used for a different request.',
    fix: 'Send a new key with each new message, and the same key only with the same request.',
  },
  recipient_suppressed: {
    status: 422,
    sentence: 'A recipient is on the suppression list of the account.',
    fix: 'Leave the recipient out, or remove the suppression when the address is known to be good.',
  },
  upgrade_required: {
    status: 426,
    sentence: 'This path accepts WebSocket connections only.',
    fix: 'Connect with a WebSocket client.',
  },
  rate_limit_exceeded: {
    status: 429,
    sentence: 'Too many requests in too short a time.',
    fix: 'Repeat the request after the seconds named by Retry-After.',
  },
  cold_outreach_limit: {
    status: 429,
    sentence: 'Too many messages to recipients that never wrote to this inbox.',
    fix: 'Repeat the request after the seconds named by Retry-After.',
  },
  loop_suspected: {
    status: 429,
    sentence: 'Two programs seem to be answering each other in this thread.',
    fix: 'Stop answering this correspondent automatically; the thread takes sends again after the seconds named by Retry-After.',
  },
  header_fields_too_large: {
    status: 431,
    sentence: 'The header fields of the request are larger than the service accepts.',
    fix: 'Send fewer or shorter header fields.',
  },
  internal_error: {
    status: 500,
    sentence: 'The service failed; the request had no effect.',
    fix: 'Repeat the request; if it fails again, report the requestId.',
  },
  webhook_failed: {
    status: 502,
    sentence: 'The receiver did not answer the test with a 2xx status.',
    fix: 'See message for what happened, fix the receiver and test again.',
  },
  image_unavailable: {
    status: 502,
    sentence: 'The host of the image did not answer with an image that can be shown.',
    fix: 'Show the message without it, or try again later.',
  },
  service_unavailable: {
    status: 503,
    sentence: 'The service cannot answer at the moment; the request had no effect.',
    fix: 'Repeat the request after the seconds named by Retry-After.',
  },
} as const satisfies Record<string, { status: number; sentence: string; fix?: string }>

export type ErrorCode = keyof typeof errorCodes
