"""An exception for each error code of the API.

Generated from the contract: npm run generate.
"""

from __future__ import annotations

from typing import Dict, Type

from .errors import MailroomError

__all__ = [
    "AddressErasedError",
    "AddressTakenError",
    "AlreadySendingError",
    "ApiKeyLimitReachedError",
    "ApproverLimitReachedError",
    "ApproverRequiredError",
    "BadRequestError",
    "ClientIdTakenError",
    "ColdOutreachLimitError",
    "ConnectionClientLimitReachedError",
    "ContentNotPermittedError",
    "DefaultPodError",
    "DeliveryPendingError",
    "DomainInUseError",
    "DomainLimitReachedError",
    "DomainNotEmptyError",
    "DomainTakenError",
    "DraftChangedError",
    "DraftLimitReachedError",
    "FeatureRequiresPaidPlanError",
    "ForbiddenError",
    "ForbiddenOriginError",
    "HeaderFieldsTooLargeError",
    "IdempotencyKeyReusedError",
    "ImageUnavailableError",
    "InboxLimitReachedError",
    "InternalError",
    "InvalidCsrfTokenError",
    "InvalidDomainError",
    "InvalidMailboxNameError",
    "InvalidPodError",
    "InvalidQueryError",
    "InvalidSignatureError",
    "InvalidWebhookUrlError",
    "InvitationCancelledError",
    "LabelLimitReachedError",
    "LastApiKeyError",
    "LastApproverError",
    "LeaseLostError",
    "LoopSuspectedError",
    "MetadataLimitReachedError",
    "MethodNotAllowedError",
    "MissingIdempotencyKeyError",
    "NoApproverError",
    "NoInvitationError",
    "NoTextError",
    "NoWebhookUrlError",
    "NotFoundError",
    "NotInvitedError",
    "OrganizerUnverifiedError",
    "PayloadTooLargeError",
    "PodHasDomainsError",
    "PodLimitReachedError",
    "PodNotEmptyError",
    "PolicyChangedError",
    "RangeNotSatisfiableError",
    "RateLimitExceededError",
    "RecipientNotPermittedError",
    "RecipientRuleLimitReachedError",
    "RecipientSuppressedError",
    "RequestTimeoutError",
    "ReviewChangedError",
    "ReviewDecidedError",
    "ReviewLimitReachedError",
    "ScopedKeysNotSupportedError",
    "SenderRuleLimitReachedError",
    "ServiceUnavailableError",
    "StorageQuotaReachedError",
    "SuppressionLimitReachedError",
    "ThreadClaimedError",
    "ThreadTrashedError",
    "TransferLimitReachedError",
    "UnauthorizedError",
    "UnsupportedMediaTypeError",
    "UpgradeRequiredError",
    "UploadLimitReachedError",
    "UploadLinkUsedError",
    "UriTooLongError",
    "WebhookFailedError",
    "WebhookIsDisabledError",
    "WebhookLimitReachedError",
]


class BadRequestError(MailroomError):
    """400 `bad_request`: The request is malformed, or a field is missing, unknown or out of range.
    """


class InvalidQueryError(MailroomError):
    """400 `invalid_query`: The search query is invalid."""


class InvalidMailboxNameError(MailroomError):
    """400 `invalid_mailbox_name`: The mailbox name breaks the format rules."""


class InvalidPodError(MailroomError):
    """400 `invalid_pod`: The account has no pod with this id or clientId."""


class InvalidDomainError(MailroomError):
    """400 `invalid_domain`: The domain name is invalid, or the inbox cannot use this domain."""


class MissingIdempotencyKeyError(MailroomError):
    """400 `missing_idempotency_key`: Sending requires the Idempotency-Key header."""


class NoWebhookUrlError(MailroomError):
    """400 `no_webhook_url`: The inbox has no webhookUrl."""


class UnauthorizedError(MailroomError):
    """401 `unauthorized`: The bearer credential is missing or invalid."""


class ForbiddenError(MailroomError):
    """403 `forbidden`: The token of an approver cannot be used for this request."""


class ApproverRequiredError(MailroomError):
    """403 `approver_required`: Only an approver may do this."""


class ForbiddenOriginError(MailroomError):
    """403 `forbidden_origin`: A session of the console cannot be used from a page of another
    origin.
    """


class InvalidCsrfTokenError(MailroomError):
    """403 `invalid_csrf_token`: The header X-CSRF-Token is missing or does not match the session.
    """


class FeatureRequiresPaidPlanError(MailroomError):
    """403 `feature_requires_paid_plan`: The plan of the account does not include this feature."""


class ScopedKeysNotSupportedError(MailroomError):
    """403 `scoped_keys_not_supported`: An API key covers the whole account; it cannot be limited to
    an inbox or a pod.
    """


class RecipientNotPermittedError(MailroomError):
    """403 `recipient_not_permitted`: The policy of the inbox does not permit this recipient."""


class ContentNotPermittedError(MailroomError):
    """403 `content_not_permitted`: The policy of the inbox does not permit this content."""


class InvalidSignatureError(MailroomError):
    """403 `invalid_signature`: The signed URL is incomplete, altered or expired."""


class NotFoundError(MailroomError):
    """404 `not_found`: The account has no such resource, or the API has no such route."""


class MethodNotAllowedError(MailroomError):
    """405 `method_not_allowed`: The path does not support this method."""


class RequestTimeoutError(MailroomError):
    """408 `request_timeout`: The request did not arrive in time."""


class ClientIdTakenError(MailroomError):
    """409 `client_id_taken`: Another pod or inbox of the account, or another draft of the inbox,
    has this clientId.
    """


class AddressTakenError(MailroomError):
    """409 `address_taken`: The address is in use or reserved."""


class DomainTakenError(MailroomError):
    """409 `domain_taken`: The domain belongs to another account, or has already been added to this
    one.
    """


class DomainInUseError(MailroomError):
    """409 `domain_in_use`: Another pod has an inbox on this domain."""


class DomainNotEmptyError(MailroomError):
    """409 `domain_not_empty`: The domain still has inboxes."""


class PodNotEmptyError(MailroomError):
    """409 `pod_not_empty`: The pod still has inboxes."""


class PodHasDomainsError(MailroomError):
    """409 `pod_has_domains`: The pod still has domains."""


class DefaultPodError(MailroomError):
    """409 `default_pod`: The default pod cannot be deleted."""


class UploadLinkUsedError(MailroomError):
    """409 `upload_link_used`: The link takes one file, and has been used."""


class NoApproverError(MailroomError):
    """409 `no_approver`: A guard can hold mail only in an account with an approver."""


class LastApproverError(MailroomError):
    """409 `last_approver`: The last approver of an account can be deleted only by the operator."""


class LastApiKeyError(MailroomError):
    """409 `last_api_key`: The last active key of an account cannot be revoked."""


class DeliveryPendingError(MailroomError):
    """409 `delivery_pending`: The delivery is still pending."""


class ThreadTrashedError(MailroomError):
    """409 `thread_trashed`: The thread is in the trash, so it cannot be claimed, and nothing can be
    sent in it.
    """


class WebhookIsDisabledError(MailroomError):
    """409 `webhook_is_disabled`: The webhook is disabled, so nothing is delivered to it."""


class ThreadClaimedError(MailroomError):
    """409 `thread_claimed`: Another worker has claimed the thread."""


class AddressErasedError(MailroomError):
    """409 `address_erased`: An erasure ended the import during its upload."""


class LeaseLostError(MailroomError):
    """409 `lease_lost`: The thread is claimed, and the Lease-Token does not belong to its claim."""


class DraftChangedError(MailroomError):
    """412 `draft_changed`: The draft has changed since the version in If-Match."""


class PolicyChangedError(MailroomError):
    """412 `policy_changed`: The policy has changed since the version in If-Match."""


class PayloadTooLargeError(MailroomError):
    """413 `payload_too_large`: The request body is larger than this route accepts."""


class UriTooLongError(MailroomError):
    """414 `uri_too_long`: The request URL is too long."""


class UnsupportedMediaTypeError(MailroomError):
    """415 `unsupported_media_type`: The content type of the request body is not supported."""


class RangeNotSatisfiableError(MailroomError):
    """416 `range_not_satisfiable`: The requested range is outside the content."""


class InboxLimitReachedError(MailroomError):
    """422 `inbox_limit_reached`: The account has reached the inbox limit of its plan."""


class PodLimitReachedError(MailroomError):
    """422 `pod_limit_reached`: The account has reached the limit of 10,000 pods."""


class SuppressionLimitReachedError(MailroomError):
    """422 `suppression_limit_reached`: The account has reached its limit of 100,000 added
    suppressions.
    """


class ApproverLimitReachedError(MailroomError):
    """422 `approver_limit_reached`: The account has reached its limit of approvers."""


class ReviewLimitReachedError(MailroomError):
    """422 `review_limit_reached`: The review has reached its limit of edits or comments."""


class ApiKeyLimitReachedError(MailroomError):
    """422 `api_key_limit_reached`: The account has reached its limit of active API keys."""


class ConnectionClientLimitReachedError(MailroomError):
    """422 `connection_client_limit_reached`: The account has reached its limit of OAuth clients."""


class DraftLimitReachedError(MailroomError):
    """422 `draft_limit_reached`: The inbox has reached its limit of drafts, or the draft its limit
    of files.
    """


class TransferLimitReachedError(MailroomError):
    """422 `transfer_limit_reached`: The account has reached its limit of exports, imports or
    erasures in progress.
    """


class UploadLimitReachedError(MailroomError):
    """422 `upload_limit_reached`: The account has reached its limit of uploads."""


class StorageQuotaReachedError(MailroomError):
    """422 `storage_quota_reached`: The storage of the account is full."""


class LabelLimitReachedError(MailroomError):
    """422 `label_limit_reached`: The change would exceed the number of labels allowed on a thread
    or message.
    """


class MetadataLimitReachedError(MailroomError):
    """422 `metadata_limit_reached`: The change would exceed the number of metadata keys allowed."""


class InvalidWebhookUrlError(MailroomError):
    """422 `invalid_webhook_url`: The URL cannot be used for a webhook."""


class DomainLimitReachedError(MailroomError):
    """422 `domain_limit_reached`: The account has reached its limit of domains."""


class SenderRuleLimitReachedError(MailroomError):
    """422 `sender_rule_limit_reached`: The account has reached its limit of sender rules."""


class RecipientRuleLimitReachedError(MailroomError):
    """422 `recipient_rule_limit_reached`: The account has reached its limit of rules for
    recipients.
    """


class WebhookLimitReachedError(MailroomError):
    """422 `webhook_limit_reached`: The account has reached its limit of webhooks."""


class IdempotencyKeyReusedError(MailroomError):
    """422 `idempotency_key_reused`: The Idempotency-Key was already used for a different request.
    """


class RecipientSuppressedError(MailroomError):
    """422 `recipient_suppressed`: A recipient is on the suppression list of the account."""


class UpgradeRequiredError(MailroomError):
    """426 `upgrade_required`: This path accepts WebSocket connections only."""


class NoTextError(MailroomError):
    """422 `no_text`: No text can be extracted from the attachment."""


class RateLimitExceededError(MailroomError):
    """429 `rate_limit_exceeded`: Too many requests."""


class ColdOutreachLimitError(MailroomError):
    """429 `cold_outreach_limit`: Too many messages to recipients who have never written to this
    inbox.
    """


class ReviewChangedError(MailroomError):
    """409 `review_changed`: The digest does not match the pending message."""


class ReviewDecidedError(MailroomError):
    """409 `review_decided`: The review has already been decided."""


class NoInvitationError(MailroomError):
    """409 `no_invitation`: The message has no invitation that can be answered."""


class InvitationCancelledError(MailroomError):
    """409 `invitation_cancelled`: The message cancels the event, so it cannot be answered."""


class NotInvitedError(MailroomError):
    """409 `not_invited`: The address of the inbox is not among the attendees of the invitation."""


class OrganizerUnverifiedError(MailroomError):
    """409 `organizer_unverified`: The organizer of the invitation is not the verified author of the
    message.
    """


class AlreadySendingError(MailroomError):
    """409 `already_sending`: The message cannot be cancelled, because its delivery has begun or
    finished.
    """


class LoopSuspectedError(MailroomError):
    """429 `loop_suspected`: Two programs seem to be replying to each other in this thread."""


class HeaderFieldsTooLargeError(MailroomError):
    """431 `header_fields_too_large`: The header fields of the request are larger than the service
    accepts.
    """


class InternalError(MailroomError):
    """500 `internal_error`: An internal error occurred; the request had no effect."""


class WebhookFailedError(MailroomError):
    """502 `webhook_failed`: The receiver did not respond to the test with a 2xx status."""


class ImageUnavailableError(MailroomError):
    """502 `image_unavailable`: The host of the image did not return a displayable image."""


class ServiceUnavailableError(MailroomError):
    """503 `service_unavailable`: The service is temporarily unavailable; the request had no effect.
    """


ERRORS: Dict[str, Type[MailroomError]] = {
    "bad_request": BadRequestError,
    "invalid_query": InvalidQueryError,
    "invalid_mailbox_name": InvalidMailboxNameError,
    "invalid_pod": InvalidPodError,
    "invalid_domain": InvalidDomainError,
    "missing_idempotency_key": MissingIdempotencyKeyError,
    "no_webhook_url": NoWebhookUrlError,
    "unauthorized": UnauthorizedError,
    "forbidden": ForbiddenError,
    "approver_required": ApproverRequiredError,
    "forbidden_origin": ForbiddenOriginError,
    "invalid_csrf_token": InvalidCsrfTokenError,
    "feature_requires_paid_plan": FeatureRequiresPaidPlanError,
    "scoped_keys_not_supported": ScopedKeysNotSupportedError,
    "recipient_not_permitted": RecipientNotPermittedError,
    "content_not_permitted": ContentNotPermittedError,
    "invalid_signature": InvalidSignatureError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "request_timeout": RequestTimeoutError,
    "client_id_taken": ClientIdTakenError,
    "address_taken": AddressTakenError,
    "domain_taken": DomainTakenError,
    "domain_in_use": DomainInUseError,
    "domain_not_empty": DomainNotEmptyError,
    "pod_not_empty": PodNotEmptyError,
    "pod_has_domains": PodHasDomainsError,
    "default_pod": DefaultPodError,
    "upload_link_used": UploadLinkUsedError,
    "no_approver": NoApproverError,
    "last_approver": LastApproverError,
    "last_api_key": LastApiKeyError,
    "delivery_pending": DeliveryPendingError,
    "thread_trashed": ThreadTrashedError,
    "webhook_is_disabled": WebhookIsDisabledError,
    "thread_claimed": ThreadClaimedError,
    "address_erased": AddressErasedError,
    "lease_lost": LeaseLostError,
    "draft_changed": DraftChangedError,
    "policy_changed": PolicyChangedError,
    "payload_too_large": PayloadTooLargeError,
    "uri_too_long": UriTooLongError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "range_not_satisfiable": RangeNotSatisfiableError,
    "inbox_limit_reached": InboxLimitReachedError,
    "pod_limit_reached": PodLimitReachedError,
    "suppression_limit_reached": SuppressionLimitReachedError,
    "approver_limit_reached": ApproverLimitReachedError,
    "review_limit_reached": ReviewLimitReachedError,
    "api_key_limit_reached": ApiKeyLimitReachedError,
    "connection_client_limit_reached": ConnectionClientLimitReachedError,
    "draft_limit_reached": DraftLimitReachedError,
    "transfer_limit_reached": TransferLimitReachedError,
    "upload_limit_reached": UploadLimitReachedError,
    "storage_quota_reached": StorageQuotaReachedError,
    "label_limit_reached": LabelLimitReachedError,
    "metadata_limit_reached": MetadataLimitReachedError,
    "invalid_webhook_url": InvalidWebhookUrlError,
    "domain_limit_reached": DomainLimitReachedError,
    "sender_rule_limit_reached": SenderRuleLimitReachedError,
    "recipient_rule_limit_reached": RecipientRuleLimitReachedError,
    "webhook_limit_reached": WebhookLimitReachedError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "recipient_suppressed": RecipientSuppressedError,
    "upgrade_required": UpgradeRequiredError,
    "no_text": NoTextError,
    "rate_limit_exceeded": RateLimitExceededError,
    "cold_outreach_limit": ColdOutreachLimitError,
    "review_changed": ReviewChangedError,
    "review_decided": ReviewDecidedError,
    "no_invitation": NoInvitationError,
    "invitation_cancelled": InvitationCancelledError,
    "not_invited": NotInvitedError,
    "organizer_unverified": OrganizerUnverifiedError,
    "already_sending": AlreadySendingError,
    "loop_suspected": LoopSuspectedError,
    "header_fields_too_large": HeaderFieldsTooLargeError,
    "internal_error": InternalError,
    "webhook_failed": WebhookFailedError,
    "image_unavailable": ImageUnavailableError,
    "service_unavailable": ServiceUnavailableError,
}
