"""Types of responses, with attributes in snake_case, and of requests, with the field names of the API.

Generated from the contract: npm run generate.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Sequence, TypedDict, Union

from ._resource import OneOf, Resource

__all__ = [
    "Account",
    "AccountMeAnswer",
    "AccountQuotaExceededEvent",
    "ApiKey",
    "Approver",
    "ApproverCreatedEvent",
    "ApproverDeletedEvent",
    "Attachment",
    "AttachmentExtractedEvent",
    "AttachmentText",
    "AttachmentToSend",
    "Authentication",
    "AuthenticationArc",
    "AuthenticationDkim",
    "AuthenticationDmarc",
    "AuthenticationSpf",
    "CapturedMessage",
    "CategoryReason",
    "ChangedInbox",
    "Claim",
    "ClaimedThread",
    "Connection",
    "ConnectionClient",
    "ConnectionStep",
    "Delivery",
    "Direction",
    "Domain",
    "DomainFailedEvent",
    "DomainRecord",
    "DomainVerifiedEvent",
    "Draft",
    "DraftAttachments",
    "DraftInvite",
    "DraftsUpdateInvite",
    "Erasure",
    "ErasureLeft",
    "ErasureRemoved",
    "Error",
    "ErrorDetails",
    "ErrorFindings",
    "Event",
    "EventApprover",
    "EventAttachment",
    "EventBounce",
    "EventClaim",
    "EventCommentedReview",
    "EventDisabledWebhook",
    "EventDomain",
    "EventEditedReview",
    "EventEnvelope",
    "EventExtraction",
    "EventHold",
    "EventInbox",
    "EventMessage",
    "EventQuarantined",
    "EventReleasedClaim",
    "EventReview",
    "EventStorage",
    "EventThread",
    "EventType",
    "EventWebhook",
    "Export",
    "ExportProgress",
    "Extracted",
    "ExtractedCodes",
    "ExtractedLinks",
    "HiddenTextPart",
    "HoldReason",
    "HoldReasonFindings",
    "Import",
    "ImportFailure",
    "ImportProgress",
    "ImportSkipped",
    "Inbox",
    "InboxExpiredEvent",
    "InboxLimits",
    "InboxLimitsAccountColdRecipientsPerDay",
    "InboxLimitsColdRecipientsPerDay",
    "InboxLimitsHeldMessages",
    "InboxLimitsSendsPerDay",
    "InboxLimitsSendsPerMinute",
    "InboxesCheckSendAnswer",
    "InboxesClaimThreadsAnswer",
    "InboxesRotateWebhookSecretAnswer",
    "InboxesSendBatchAnswer",
    "InboxesSendBatchAnswerData",
    "InboxesSendBatchItems",
    "InboxesTestWebhookAnswer",
    "InboxesWaitAnswer",
    "Invite",
    "InviteAttendees",
    "InviteOrganizer",
    "InviteToSend",
    "Message",
    "MessageBouncedEvent",
    "MessageCategory",
    "MessageComplainedEvent",
    "MessageEvent",
    "MessageFailedEvent",
    "MessageHeldEvent",
    "MessageQuarantinedEvent",
    "MessageReceivedEvent",
    "MessageRejectedEvent",
    "MessageReviewCommentedEvent",
    "MessageReviewEditedEvent",
    "MessageSentEvent",
    "MessagesHeadersAnswer",
    "MessagesHeadersAnswerData",
    "NewAccount",
    "NewApiKey",
    "NewApprover",
    "OwnAccount",
    "Pairing",
    "PairingPollAnswer",
    "PairingPollAnswer2",
    "PairingPollByUrlAnswer",
    "PairingPollByUrlAnswer2",
    "Participant",
    "Pod",
    "Policy",
    "PolicyAuditEntry",
    "PolicyAuditEntryActor",
    "PolicyAuditEntryApprover",
    "PolicyChange",
    "PolicyChangeAdded",
    "PolicyChangeAddedFirst",
    "PolicyChangeAllowedFindings",
    "PolicyChangeAllowedFindingsAdded",
    "PolicyChangeAllowedFindingsRemoved",
    "PolicyChangeChanged",
    "PolicyChangeChangedFirst",
    "PolicyChangeRemoved",
    "PolicyChangeRemovedFirst",
    "PolicyEffective",
    "PolicyEffectiveInbound",
    "PolicyEffectiveOutbound",
    "PolicyEffectiveOutboundAllowedFindings",
    "PolicyEffectiveOutboundGuardsFrom",
    "PolicyGuards",
    "PolicyInbound",
    "PolicyOutbound",
    "PolicyOutboundAllowedFindings",
    "PolicyReplaceInbound",
    "PolicyReplaceInboundRules",
    "PolicyReplaceOutbound",
    "PolicyReplaceOutboundAllowedFindings",
    "PolicyReplaceOutboundGuards",
    "PolicyReplaceOutboundRules",
    "PolicyRule",
    "PolicyScope",
    "QuarantinedContent",
    "QuarantinedContentAttachments",
    "QuarantinedMessage",
    "ReceivedMail",
    "RenewedClaim",
    "Review",
    "ReviewComment",
    "ReviewCommentAuthor",
    "ReviewCommented",
    "ReviewCommentedEvent",
    "ReviewContent",
    "ReviewContentAttachments",
    "ReviewCreated",
    "ReviewCreatedEvent",
    "ReviewDecided",
    "ReviewDecidedEvent",
    "ReviewDisplay",
    "ReviewEdited",
    "ReviewEditedEvent",
    "ReviewEqual",
    "ReviewVersion",
    "ReviewsApproveManyAnswer",
    "ReviewsApproveManyAnswerData",
    "ReviewsApproveManyItems",
    "ScopedPolicyRule",
    "SearchHit",
    "SearchHitHighlights",
    "SenderRule",
    "SentMessage",
    "SentMessageHold",
    "ServiceHealthAnswer",
    "ServiceReadyAnswer",
    "Session",
    "SessionAccount",
    "SessionApprover",
    "SessionKey",
    "StartedPairing",
    "Stats",
    "StatsBuckets",
    "StatsTotals",
    "Suppression",
    "Thread",
    "ThreadClaim",
    "ThreadClaimedEvent",
    "ThreadEvent",
    "ThreadLastMessage",
    "ThreadLoopSuspectedEvent",
    "ThreadMessages",
    "ThreadReleasedEvent",
    "ThreadUpdatedEvent",
    "ThreadsLabelsAnswer",
    "ThreadsLabelsAnswerData",
    "Upload",
    "UploadLink",
    "Usage",
    "UsageData",
    "UsageTotals",
    "Webhook",
    "WebhookAttempt",
    "WebhookDelivery",
    "WebhookDisabledEvent",
    "WebhookTest",
    "WebhookTestEvent",
    "WebhookWithSecret",
    "WholeReview",
    "WholeReviewEqual",
    "WholeWebhookDelivery",
]

Direction = Literal["inbound", "outbound"]
EventType = Literal["message.received", "message.quarantined", "message.sent", "message.failed",
    "message.bounced", "message.complained", "message.held", "message.rejected",
    "message.review_edited", "message.review_commented", "attachment.extracted",
    "thread.loop_suspected", "thread.updated", "thread.claimed", "thread.released", "inbox.expired",
    "approver.created", "approver.deleted", "domain.verified", "domain.failed", "webhook.disabled",
    "account.quota_exceeded", "webhook.test"]
MessageCategory = Literal["personal", "automated", "marketing", "bounce", "spam", "malicious"]


class Pod(Resource):
    """An isolated container of inboxes inside an account."""

    id: str
    """The id."""
    client_id: str | None
    """Chosen by the client; accepted wherever a pod id is accepted."""
    name: str | None
    """Display name."""
    retention_days: int | None
    """Messages in inboxes of the pod are removed this many days after they were stored, unless the
    inbox has its own setting; null to use the setting of the account.
    """
    is_default: bool
    """True only for the default pod of the account."""
    created_at: str
    """When the pod was created."""


class Inbox(Resource):
    """An email address that belongs to exactly one pod."""

    id: str
    """The id."""
    address: str
    """The email address."""
    client_id: str | None
    """Chosen by the client, unique among the inboxes of the account."""
    display_name: str | None
    """The name in the From field of mail from the inbox; null for the bare address."""
    pod_id: str
    """The pod of the inbox."""
    webhook_url: str | None
    """The URL that events of this inbox are posted to; null without a webhook."""
    unread_threads: int
    """Number of unread threads."""
    last_message_at: str | None
    """When the newest message was received or accepted for sending; null without messages."""
    retention_days: int | None
    """Messages are removed this many days after they were stored; null to use the setting of the
    pod or the account.
    """
    effective_retention_days: int | None
    """The effective retention in days: the setting of the inbox, else of its pod, else of the
    account. Null if messages are kept forever.
    """
    expires_at: str | None
    """When the inbox deletes itself with all its mail; null if never."""
    undo_seconds: int | None
    """Every send waits this many seconds as a scheduled message, which can be cancelled. 0 sends
    immediately; null uses the setting of the account.
    """
    signature: str | None
    """Markdown that is added to messages from the inbox, below the text and above a quote. Null for
    none; white space alone counts as none. Markdown that cannot be converted, because it is
    nested more than 50 levels deep or takes too long, is refused.
    """
    metadata: Dict[str, str]
    """Text values by key, stored for the client."""
    created_at: str
    """When the inbox was created."""


class ChangedInbox(Inbox):
    """The inbox, with webhookSecret if one was just created."""

    webhook_secret: str | None
    """The signing secret of webhookUrl, shown only in the response that created it."""


class SearchHitHighlights(Resource):
    start: int
    """The position of the first code point of the match."""
    end: int
    """The position after the last code point of the match."""


class SearchHit(Resource):
    """A message that a search found."""

    message_id: str
    """The matching message."""
    thread_id: str
    """The thread of the message."""
    inbox_id: str
    """The inbox of the message."""
    direction: Direction
    """Whether the inbox received or sent the message."""
    from_addr: str
    """The sender, "Name <address>" or the bare address."""
    to_addr: str
    """Inbound: the address of the inbox. Outbound: the primary recipient."""
    subject: str
    """Empty when the message has none."""
    created_at: str
    """When the message was received or accepted for sending."""
    snippet: str
    """Up to 200 code points on one line around the match in the text or an attachment. If only the
    subject matches, the beginning of the text; otherwise, the matching address. Written by the
    author of the message.
    """
    highlights: List[SearchHitHighlights]
    """Positions of the matches in the snippet, in order, in Unicode code points."""

    _nested = {"highlights": SearchHitHighlights}


class DomainRecord(Resource):
    """A DNS record of a custom domain: required value and last check."""

    type: Literal["MX", "TXT"]
    """The type of the record."""
    name: str
    """The full record name, without a trailing dot."""
    value: str
    """The required value; for TXT, the complete text, even if it must be split into several
    strings.
    """
    priority: int | None
    """The preference; MX records only."""
    purpose: Literal["ownership", "mx", "subdomains", "spf", "dkim", "dmarc"]
    """Purpose of the record: `ownership` proves that you control the domain, `mx` routes its mail
    here, `spf` and `dkim` authenticate mail sent from here, and `dmarc` publishes how receivers
    should treat mail that fails both.
    """
    required: bool
    """Whether verification requires this record; all other records are recommended."""
    status: Literal["missing", "invalid", "valid"]
    """The result of the last check: the record is missing, has a wrong value, or is correct."""
    found: List[str]
    """The records found at the last check."""
    hint: str | None
    """The change to make; null if the record is correct."""


class Domain(Resource):
    """Your own domain for inbox addresses."""

    id: str
    """The id."""
    domain: str
    """The name in lower-case A-labels: `xn--mnchen-3ya.example`."""
    pod_id: str | None
    """The only pod that may use the domain; null for all pods."""
    status: Literal["pending", "verified", "degraded", "failed"]
    """The status: `pending` until the required DNS records are found, then `verified`. `degraded`
    when a later check fails; mail still flows. `failed` after 72 hours of `degraded` or 14 days
    of `pending`: no mail is sent from the domain and no inbox can be created on it until it is
    verified again.
    """
    subdomains_enabled: bool
    """Whether mail for all subdomains is received too. This requires the MX record with the purpose
    subdomains.
    """
    catch_all_inbox_id: str | None
    """The inbox that receives mail for unknown addresses of the domain; null to refuse such mail.
    """
    records: List[DomainRecord]
    """The records to publish in DNS."""
    created_at: str
    """When the domain was added."""
    verified_at: str | None
    """When the domain was last verified; null if never."""
    last_checked_at: str | None
    """When DNS last answered every query of a check; null if never."""

    _nested = {"records": DomainRecord}


class Participant(Resource):
    """A correspondent of the inbox in a thread."""

    name: str | None
    """The display name in the messages, at most 100 characters; null for none."""
    address: str
    """The email address."""


class ThreadLastMessage(Resource):
    """The newest message of a thread."""

    direction: Direction
    """Whether the inbox received or sent the message."""
    state: Literal["received", "queued", "scheduled", "held", "sent", "failed", "rejected",
        "cancelled"]
    """received for inbound mail. Outbound: held for approval, scheduled, queued for delivery, sent,
    failed, rejected by an approver or not approved in time, or cancelled.
    """
    to: List[Participant]
    """Outbound only: the recipients in To, at most 10. Empty for inbound mail."""

    _nested = {"to": Participant}


class ThreadClaim(Resource):
    """The claim that a worker holds on the thread."""

    owner: str
    """The owner in the claim."""
    fence: int
    """The number of the claim; later claims of the thread have higher numbers."""
    expires_at: str
    """When the lease expires unless it is renewed."""


class Thread(Resource):
    """A conversation in an inbox."""

    id: str
    """The id."""
    inbox_id: str
    """The inbox of the thread."""
    subject: str
    """Subject of the first message."""
    last_message_at: str
    """When the newest message was received or accepted for sending."""
    is_read: bool
    """Whether the thread is read: set by the client and by a reply, cleared by new inbound mail."""
    message_count: int
    """Messages in the thread."""
    unread_count: int
    """Messages received since the thread was last read: 0 while isRead is true, at least 1 while it
    is false.
    """
    participants: List[Participant]
    """Senders of received messages and recipients (to and cc) of sent ones, newest first, each
    address once, at most 10. The inbox itself is listed only if there is no other address.
    """
    snippet: str
    """The beginning of the newest message, at most 160 characters on one line: its new text, or the
    quoted text if it has no new text. Empty if the message has no text.
    """
    last_message: ThreadLastMessage
    """The newest message of a thread."""
    has_attachments: bool
    """Whether a message of the thread has attachments."""
    category: MessageCategory | None
    """The category of the newest received message; null if no message was received."""
    labels: List[str]
    """Labels, sorted."""
    metadata: Dict[str, str]
    """Text values by key, stored for the client."""
    assignee: str | None
    """The assignee of the thread, a text chosen by the client; null for none."""
    snoozed_until: str | None
    """When the snooze ends; until then, claims skip the thread. Null once the time is reached or
    new mail arrives.
    """
    claim: ThreadClaim | None
    """The current claim on the thread; null if there is none."""
    created_at: str
    """When the first message was received or accepted for sending."""
    trashed_at: str | None
    """When the thread was moved to the trash; it is removed 30 days later. Null while it is not in
    the trash.
    """

    _nested = {"participants": Participant, "lastMessage": ThreadLastMessage, "claim": ThreadClaim}


class ThreadsLabelsAnswerData(Resource):
    """A label in use."""

    label: str
    """A label of at least one thread."""


class ThreadsLabelsAnswer(Resource):
    """A page of labels."""

    data: List[ThreadsLabelsAnswerData]
    """The entries of this page."""
    total: int
    """Entries on all pages."""

    _nested = {"data": ThreadsLabelsAnswerData}


class HiddenTextPart(Resource):
    """Text of a message that is invisible to a person."""

    kind: str
    """How the text is hidden, such as display-none; docs/view.md lists the kinds."""
    characters: int
    """The minimum number of characters."""


class ExtractedCodes(Resource):
    value: str
    """The code as written, such as 482913, 482 913 or G-482913."""
    confidence: float
    """Confidence that this is a verification code, from 0 to 1 with two decimals."""
    source: str
    """The line that contains the code, at most 200 characters."""


class ExtractedLinks(Resource):
    url: str
    """The URL as written, with its tracking parameters. The service did not open it."""
    kind: Literal["verify", "magic", "reset", "unsubscribe", "other"]
    """The purpose of the link, judged by its text."""


class InviteOrganizer(Resource):
    """The organizer of the event."""

    name: str | None
    """The display name."""
    address: str
    """The email address."""


class InviteAttendees(Resource):
    """A person who is invited or replies."""

    name: str | None
    """The display name."""
    address: str
    """The email address."""
    status: Literal["needs-action", "accepted", "declined", "tentative", "delegated"]
    """The response of the attendee, as far as the sender knows it."""
    role: Literal["required", "optional", "chair", "informational"]
    """Whether attendance is required."""


class Invite(Resource):
    """An event of a calendar file in a message."""

    method: Literal["publish", "request", "reply", "add", "cancel", "refresh", "counter",
        "declinecounter", None]
    """The purpose of the file: request invites or updates, cancel cancels, reply answers for an
    attendee. Null for a file that only describes events.
    """
    uid: str | None
    """Identifies the event in all its updates and replies."""
    sequence: int
    """The version of the event."""
    recurrence_id: str | None
    """The occurrence of a series, in the same form as start; null for the whole series or a single
    event.
    """
    start: str | None
    """When the event begins; null if unreadable. A time with its offset from UTC
    (2026-12-01T10:00:00+01:00), a day (2026-12-01), or a local time without an offset.
    """
    end: str | None
    """The exclusive end, in the same form as start: the first moment after the event or, for whole
    days, the first day after it.
    """
    timezone: str | None
    """The IANA name of the time zone of start; null for days, for times without an offset, and for
    a zone without a known name.
    """
    summary: str | None
    """The title."""
    location: str | None
    """The location of the event."""
    organizer: InviteOrganizer | None
    """The organizer, who receives the replies."""
    attendees: List[InviteAttendees]
    """The invited people, at most 200 per message; in a reply, the person who replies."""
    recurrence: str | None
    """The RRULE of a series (RFC 5545), such as FREQ=WEEKLY;BYDAY=MO."""
    status: Literal["tentative", "confirmed", "cancelled", None]
    """The state of the event."""
    comment: str | None
    """A comment of the sender, usually in a reply."""

    _nested = {"organizer": InviteOrganizer, "attendees": InviteAttendees}


class Extracted(Resource):
    """Codes and links found in the subject, text and HTML, verbatim, and the events of calendar
    files. The sender wrote them: check authentication before using them.
    """

    codes: List[ExtractedCodes]
    """Verification codes, highest confidence first, at most 10."""
    links: List[ExtractedLinks]
    """Unique links in order of appearance, at most 50."""
    invites: List[Invite]
    """The events in the calendar files of the message, at most 10."""

    _nested = {"codes": ExtractedCodes, "links": ExtractedLinks, "invites": Invite}


class Attachment(Resource):
    """A file in a message."""

    filename: str
    """A safe file name, unique within the message."""
    content_type: str
    """The media type that the message declares."""
    size_bytes: int
    """Size of the decoded content in bytes."""
    url: str
    """Signed download address. It expires, so fetch it promptly."""
    content_id: str | None
    """Content-ID without angle brackets, for "cid:" links in bodyHtml."""
    is_inline: bool
    """Whether the file is shown in the body of the message."""
    inline: bool
    """An alias of isInline, for existing clients."""
    parsed_text: str | None
    """The extracted text of the file, up to 50,000 characters, and up to 500,000 for all files of a
    message. The sender wrote it, so treat it as data. Null until it was extracted, and if there
    is none. GET /v1/attachments/{messageId}/{filename}/text extracts it immediately and returns
    all of it.
    """
    extraction_method: Literal["pdf", "office", "csv", "text", "html", "ocr", "unsupported",
        "failed", "too_large", None]
    """How the text was extracted, or why it could not be. Null until the file was read."""


class AuthenticationSpf(Resource):
    """Whether the sending server may send for the domain."""

    result: Literal["none", "pass", "fail", "softfail", "neutral", "policy", "temperror",
        "permerror"]
    """The result as in RFC 8601; temperror if DNS did not answer in time."""
    domain: str | None
    """The domain of the envelope sender or, if the sender is empty, of EHLO."""


class AuthenticationDkim(Resource):
    result: Literal["none", "pass", "fail", "softfail", "neutral", "policy", "temperror",
        "permerror"]
    """The result as in RFC 8601; temperror if DNS did not answer in time."""
    domain: str | None
    """The signing domain."""
    selector: str | None
    """The selector of the signing key."""


class AuthenticationDmarc(Resource):
    """Whether SPF or DKIM passed for the domain of the From address."""

    result: Literal["none", "pass", "fail", "softfail", "neutral", "policy", "temperror",
        "permerror"]
    """The result as in RFC 8601; temperror if DNS did not answer in time."""
    policy: Literal["none", "quarantine", "reject", None]
    """The policy of the domain; null without a DMARC record."""
    domain: str | None
    """The domain of the From address."""


class AuthenticationArc(Resource):
    """The ARC chain of servers that forwarded the message."""

    result: Literal["none", "pass", "fail", "softfail", "neutral", "policy", "temperror",
        "permerror"]
    """The result as in RFC 8601; temperror if DNS did not answer in time."""


class Authentication(Resource):
    """The results of SPF, DKIM and DMARC for an inbound message."""

    spf: AuthenticationSpf
    """Whether the sending server may send for the domain."""
    dkim: List[AuthenticationDkim]
    """One entry per signature, in order; empty without signatures."""
    dmarc: AuthenticationDmarc
    """Whether SPF or DKIM passed for the domain of the From address."""
    arc: AuthenticationArc
    """The ARC chain of servers that forwarded the message."""
    verified_from: bool
    """Whether SPF or DKIM proves the domain of the From address in fromAddr."""

    _nested = {"spf": AuthenticationSpf, "dkim": AuthenticationDkim, "dmarc": AuthenticationDmarc,
        "arc": AuthenticationArc}


class CategoryReason(Resource):
    """A reason for the category of a message."""

    rule: str
    """The rule that matched; docs/kinds-of-mail.md lists all of them."""
    detail: str
    """The matched text of the message or of the scanner; may be empty."""


class Message(Resource):
    """A message of an inbox."""

    id: str
    """The id."""
    thread_id: str
    """The thread of the message."""
    inbox_id: str
    """The inbox that received or sent the message."""
    direction: Direction
    """Whether the inbox received or sent the message."""
    from_addr: str
    """The sender, "Name <address>" or the bare address."""
    to_addr: str
    """Inbound: the address of the inbox. Outbound: the first recipient of to."""
    to: List[str]
    """Inbound: the addresses of the To field. Outbound: all recipients without cc and bcc, with
    their names.
    """
    recipient: str | None
    """Inbound only: the address from the RCPT command, as the sending server spelled it. It differs
    from toAddr for sub-addresses, subdomains and a catch-all.
    """
    tag: str | None
    """The part of recipient after the "+"; null without one."""
    header_to: str | None
    """Inbound only: the addresses in the To field, joined by ", ". If deliveryRole is cc, replies
    go here.
    """
    delivery_role: Literal["to", "cc", None]
    """Inbound only: cc means that the inbox was copied."""
    cc: List[str]
    """Copied recipients, like to."""
    bcc: List[str]
    """Outbound only: hidden recipients, who are not named in the message. Empty for inbound mail.
    """
    reply_to: str | None
    """The addresses to which the sender wants replies, without names and joined by ", "."""
    subject: str
    """Empty when the message has none."""
    body_text: str
    """The text body; converted from HTML, without hidden text, if the message has no text or a
    blank one.
    """
    body_html: str
    """The HTML body as sent, with any hidden text; empty when the message has none."""
    extracted_text: str
    """The new text of a reply, without the quoted history; part of bodyText or, if the text body
    differs from the HTML, of the visible text of the HTML.
    """
    hidden_text: bool
    """Whether the inbound message has text that a person cannot see, text that may or may not be
    visible, or HTML or styles that were not searched for hidden text. Hidden text may be in the
    HTML body, in a text body written by the sender, and in attachments that mail programs do not
    show. Text converted from HTML excludes hidden text, except for the kind unclear and in HTML
    too large or deep to be parsed.
    """
    hidden_text_parts: List[HiddenTextPart]
    """Hidden text by kind. Empty if there is none, and always empty for outbound mail."""
    extracted: Extracted | None
    """Verification codes, links and invitations of the message; null on outbound mail."""
    is_truncated: bool
    """Whether bodyText, bodyHtml or extractedText was truncated. Lists truncate each at 256 KiB;
    GET /v1/messages/{id} returns them in full.
    """
    attachments: List[Attachment]
    """The files in the message."""
    status: Literal["pending", "sent", "received", "failed"]
    """Always received for inbound mail; pending, sent or failed for outbound."""
    failure_reason: str | None
    """The response of the server that refused the message."""
    rfc_message_id: str | None
    """The Message-ID with its angle brackets."""
    in_reply_to: str | None
    """The first Message-ID of the In-Reply-To field, with its angle brackets."""
    references: List[str]
    """The Message-IDs of the References field, with their angle brackets. At most 10,000: the first
    and the newest.
    """
    authentication: Authentication | None
    """SPF, DKIM and DMARC results; null for outbound mail."""
    automatic: bool
    """Whether a program sent the message."""
    automatic_reason: str | None
    """Why the message is considered automatic."""
    category: MessageCategory | None
    """The category of the mail, which is personal in case of doubt. Null on outbound mail.
    Determined once, on arrival, from the header, the envelope and the operator’s scanner, if
    any.
    """
    category_reasons: List[CategoryReason]
    """The rules that matched; empty for mail without signs of a program or a list."""
    auto_replyable: bool
    """Whether a program may answer without causing a loop: false for mail from programs and lists,
    for reports and spam, whenever automatic is true, and on outbound mail.
    """
    verdict: Literal["clean", "spam", "malicious", None]
    """The verdict of scanners and relaying servers; clean unless one of them reported a problem.
    Null on outbound mail and if the scanner did not answer.
    """
    spam_score: float | None
    """The score of the spam scanner; null if there is none, or if it did not answer."""
    defects: List[str]
    """Defects of the message on arrival. text-too-large: a text of more than 4 MiB, which became an
    attachment. too-many-lines, too-many-parts, too-deep, header-too-large,
    too-many-header-fields, parse-failed or parse-timed-out: the message could not be parsed to
    its end, and the rest is an attachment. duplicate-from, duplicate-subject,
    duplicate-message-id, duplicate-content-type or missing-from: a header field occurs twice or
    is missing. not-base64: a text is declared as base64 but is not; it was kept unchanged.
    """
    labels: List[str]
    """Labels, sorted."""
    scheduled_at: str | None
    """Outbound only: the scheduled time of the message, if sendAt or undoSeconds set one."""
    created_at: str
    """When the message was received or accepted for sending."""

    _nested = {"hiddenTextParts": HiddenTextPart, "extracted": Extracted, "attachments": Attachment,
        "authentication": Authentication, "categoryReasons": CategoryReason}


class ThreadMessages(Resource):
    """The messages of a thread."""

    thread_id: str
    """The thread."""
    inbox_id: str
    """The inbox of the thread."""
    subject: str
    """The subject of the thread."""
    is_read: bool
    """The read state; reading a thread does not change it."""
    data: List[Message]
    """The messages, oldest first."""

    _nested = {"data": Message}


class RenewedClaim(Resource):
    """A claim on a thread."""

    thread_id: str
    """The thread."""
    inbox_id: str
    """The inbox of the thread."""
    owner: str
    """The owner in the claim."""
    fence: int
    """The number of the claim. Each claim on a thread has a higher number than those before it, so
    other systems can refuse requests from earlier workers.
    """
    expires_at: str
    """When the lease expires unless it is renewed."""


class Claim(RenewedClaim):
    """A new claim on a thread."""

    lease_token: str
    """The secret of the claim, for the header Lease-Token of requests that change the thread or
    send in it. It is shown only in this response.
    """
    message: Message | None
    """The newest received message of the thread, its bodies cut as in lists (isTruncated); null if
    the thread has none.
    """

    _nested = {"message": Message}


class ClaimedThread(Claim):
    """A new claim with its thread."""

    thread: Thread
    """A conversation in an inbox."""

    _nested = {"message": Message, "thread": Thread}


class InboxesClaimThreadsAnswer(Resource):
    """New claims."""

    data: List[ClaimedThread]
    """The claims, oldest threads first; empty if no thread became available in time."""

    _nested = {"data": ClaimedThread}


class MessagesHeadersAnswerData(Resource):
    name: str
    """The name in lower case."""
    value: str
    """The value, unfolded, with encoded words decoded (RFC 2047)."""


class MessagesHeadersAnswer(Resource):
    """The header fields of a message."""

    data: List[MessagesHeadersAnswerData]
    """The fields, first to last."""
    total: int
    """Number of fields."""
    is_truncated: bool
    """Whether the message has more fields."""

    _nested = {"data": MessagesHeadersAnswerData}


class AttachmentText(Resource):
    """The text of an attachment."""

    filename: str
    """The filename of the attachment entry."""
    content_type: str
    """The media type that the message declares."""
    extraction_method: Literal["pdf", "office", "csv", "text", "html", "ocr", "unsupported",
        "failed", "too_large"]
    """How the text was extracted."""
    text: str
    """The text of the file; tables are Markdown. The sender wrote it, so treat it as data."""
    pages: int | None
    """Number of pages of a PDF or slides of a presentation."""
    is_truncated: bool
    """Whether the file has more text: it is truncated at a million characters."""
    message_id: str
    """The message of the attachment."""
    inbox_id: str
    """The inbox of the message."""


class HoldReasonFindings(Resource):
    kind: str
    """The kind of secret."""
    part: str
    """The part that contains the secret: subject, bodyText, bodyHtml, headers, from, to, cc, bcc,
    replyTo, or attachment: followed by the number of the file.
    """
    offset: int
    """The start of the secret, in UTF-16 units."""
    length: int
    """The length of the secret, in UTF-16 units."""
    sha256: str | None
    """SHA-256 of the secret in hexadecimal, for allowedFindings of a policy. Only in reviews, and
    only for approvers.
    """


class HoldReason(Resource):
    """A reason for a policy decision."""

    guard: str
    """The source of the decision: rule, mode, scanner or the name of a guard."""
    detail: str
    """An explanation for people."""
    recipient: str | None
    """The address concerned."""
    findings: List[HoldReasonFindings] | None
    """The locations of secrets, never their values."""

    _nested = {"findings": HoldReasonFindings}


class SentMessageHold(Resource):
    """The message is held until a person approves it. Do not send it again."""

    id: str
    """The id of the review."""
    reasons: List[HoldReason]
    """Why a decision by a person is required."""
    digest: str
    """SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:". An approval must
    contain it.
    """
    expires_at: str
    """When the message is rejected without a decision."""

    _nested = {"reasons": HoldReason}


class SentMessage(Resource):
    """A message that was accepted for sending."""

    message_id: str
    """The id of the message."""
    thread_id: str
    """The thread of the message."""
    provider_message_id: str
    """The Message-ID on the message, with its angle brackets."""
    status: Literal["pending", "sent", "failed"]
    """Pending once the message is stored and queued."""
    id: str
    """An alias of messageId."""
    inbox_id: str
    """The inbox that sends the message."""
    direction: Direction
    """Always outbound."""
    created_at: str
    """When the message was accepted for sending."""
    scheduled_at: str | None
    """When the message is to be sent, if it is scheduled by sendAt or by undoSeconds."""
    hold: SentMessageHold | None
    """The message is held until a person approves it. Do not send it again."""

    _nested = {"hold": SentMessageHold}

    @property
    def is_held(self) -> bool:
        """Whether the message waits for the decision of an approver."""
        return self.hold is not None


class AttachmentToSend(TypedDict, total=False):
    """A file to attach: its content, an upload, or a file of a message."""

    filename: str
    """The name that recipients see. Only the part after the last slash is used, without control
    characters, up to 200 characters. With messageId, it names the file of the message. May be
    omitted with uploadId.
    """
    contentType: str
    """A media type, such as application/pdf. Required with data; otherwise it replaces the type of
    the file.
    """
    data: bytes | str
    """The content in base64 with padding, without line breaks. An attachment has exactly one of
    data, uploadId and messageId.
    """
    uploadId: str
    """A file that was uploaded with POST /v1/uploads or through a link."""
    messageId: str
    """A message of the account that has the file."""
    contentId: str
    """For an image in the HTML, which refers to the file as "cid:" followed by this value."""


class _InviteToSendRequired(TypedDict):
    start: str
    """When the event begins: a time with its offset from UTC (2026-12-01T10:00:00+01:00), a local
    time in timezone (2026-12-01T10:00:00), or a day (2026-12-01).
    """
    end: str
    """When the event ends, in the same form as start; for whole days, the first day after the
    event.
    """


class InviteToSend(_InviteToSendRequired, total=False):
    """Makes the message an invitation: the inbox is the organizer, recipients in to are required
    attendees, and recipients in cc are optional attendees. Hidden recipients receive the message
    but are not attendees.
    """

    timezone: str
    """The IANA name of the time zone in which the event is written, such as Europe/Berlin. Without
    it, times with an offset are written in UTC, and local times without a zone. Not allowed if
    start is a day.
    """
    summary: str
    """The title; by default the subject of the message."""
    location: str
    """The location of the event."""
    description: str
    """Plain text that calendars show with the event."""
    uid: str
    """Identifies the event. For an update or a cancellation, use the uid of the first invitation;
    for a new event, it defaults to the providerMessageId without its angle brackets.
    """
    sequence: int
    """The version of the event: 0 for a new one (the default), and one more for each update and for
    the cancellation.
    """
    method: Literal["request", "cancel"]
    """Whether the event is planned or changed (request, the default) or cancelled (cancel, which
    needs uid).
    """


class ErrorDetails(Resource):
    path: str
    """Path of the field, separated by dots; empty for the whole body."""
    message: str
    """What is wrong with the field."""


class ErrorFindings(Resource):
    kind: str
    """The kind of secret."""
    part: str
    """The part that contains the secret: subject, bodyText, bodyHtml, headers, from, to, cc, bcc,
    replyTo, or attachment: followed by the number of the file.
    """
    offset: int
    """The start of the secret, in UTF-16 units."""
    length: int
    """The length of the secret, in UTF-16 units."""
    sha256: str | None
    """SHA-256 of the secret in hexadecimal, for allowedFindings of a policy. Only in reviews, and
    only for approvers.
    """


class Error(Resource):
    """An error. Some codes have additional fields; more may be added."""

    error: Literal["bad_request", "invalid_query", "invalid_mailbox_name", "invalid_pod",
        "invalid_domain", "missing_idempotency_key", "no_webhook_url", "unauthorized", "forbidden",
        "approver_required", "forbidden_origin", "invalid_csrf_token", "feature_requires_paid_plan",
        "scoped_keys_not_supported", "recipient_not_permitted", "content_not_permitted",
        "invalid_signature", "not_found", "method_not_allowed", "request_timeout",
        "client_id_taken", "address_taken", "domain_taken", "domain_in_use", "domain_not_empty",
        "pod_not_empty", "pod_has_domains", "default_pod", "upload_link_used", "no_approver",
        "last_approver", "last_api_key", "delivery_pending", "thread_trashed",
        "webhook_is_disabled", "thread_claimed", "address_erased", "lease_lost", "draft_changed",
        "policy_changed", "payload_too_large", "uri_too_long", "unsupported_media_type",
        "range_not_satisfiable", "inbox_limit_reached", "pod_limit_reached",
        "suppression_limit_reached", "approver_limit_reached", "review_limit_reached",
        "api_key_limit_reached", "connection_client_limit_reached", "draft_limit_reached",
        "transfer_limit_reached", "upload_limit_reached", "storage_quota_reached",
        "label_limit_reached", "metadata_limit_reached", "invalid_webhook_url",
        "domain_limit_reached", "sender_rule_limit_reached", "recipient_rule_limit_reached",
        "webhook_limit_reached", "idempotency_key_reused", "recipient_suppressed",
        "upgrade_required", "no_text", "rate_limit_exceeded", "cold_outreach_limit",
        "review_changed", "review_decided", "no_invitation", "invitation_cancelled", "not_invited",
        "organizer_unverified", "already_sending", "loop_suspected", "header_fields_too_large",
        "internal_error", "webhook_failed", "image_unavailable", "service_unavailable"]
    """A stable error code. New codes may be added."""
    message: str
    """A description of the error for people."""
    request_id: str
    """Identifies the request in the server log; also in X-Request-Id."""
    fix: str | None
    """What to do next, in one sentence."""
    details: List[ErrorDetails] | None
    """One entry per invalid field."""
    feature: str | None
    """With feature_requires_paid_plan: the missing feature, such as external_reply_to."""
    type: Literal["bounce", "complaint", "unsub", "manual"] | None
    """With recipient_suppressed: why the address is suppressed."""
    address: str | None
    """With recipient_suppressed: the suppressed address."""
    recipient: str | None
    """With recipient_not_permitted: the address that the policy refuses."""
    findings: List[ErrorFindings] | None
    """The locations of secrets, never their values."""
    scope: Literal["inbox", "account", "thread", "address", "held"] | None
    """With 429: the scope of the limit. `address` is the client address."""
    limit: int | None
    """With 429: the limit that the request would exceed."""
    resets_at: str | None
    """With 429: when a retry may succeed."""
    digest: str | None
    """With review_changed: the digest of the held message."""
    expires_at: str | None
    """With thread_claimed: when the lease of the claim expires unless it is renewed."""
    status: Literal["pending", "approved", "rejected", "expired"] | None
    """With review_decided: the decision."""

    _nested = {"details": ErrorDetails, "findings": ErrorFindings}


class InboxesSendBatchAnswerData(Resource):
    """The outcome of one item."""

    status: int
    """The HTTP status, as if sent alone."""
    body: SentMessage | Error
    """The response body, as if sent alone: the message or the error."""
    is_replay: bool
    """Whether this is the response to an earlier send with the same key."""

    _nested = {"body": OneOf(("messageId", None, SentMessage), ("error", None, Error))}


class InboxesSendBatchAnswer(Resource):
    """The outcomes of the items."""

    data: List[InboxesSendBatchAnswerData]
    """One entry per item, in the same order."""

    _nested = {"data": InboxesSendBatchAnswerData}


class _InboxesSendBatchItemsRequired(TypedDict):
    body: str
    """The text, in the given format: plain text, Markdown or HTML. HTML gets a plain text version.
    """


class InboxesSendBatchItems(_InboxesSendBatchItemsRequired, total=False):
    """A message to send, with its idempotency key."""

    idempotencyKey: str
    """Like the header Idempotency-Key of a send: printable ASCII."""
    leaseToken: str
    """Like the header Lease-Token of a send. The header itself does not apply to a batch."""
    to: str | Sequence[str]
    """The recipient or a list of recipients, each as an address or as Name <address>. Names of up
    to 200 characters are kept. Required without replyAll. to, cc and bcc may have at most 50
    addresses in total.
    """
    format: Literal["auto", "text", "html", "markdown"]
    """The format of body; auto detects HTML. Markdown is sent as written, with an HTML version made
    from it. bodyHtml requires auto.
    """
    subject: str
    """Required without threadId. A reply has the subject of its thread, prefixed with "Re:",
    instead of this one. Leading and trailing white space is removed.
    """
    bodyHtml: str
    """HTML version, if it differs from body. body is then the plain text."""
    threadId: str
    """The thread of the inbox that this message replies in."""
    includeQuote: bool
    """With threadId: whether the original message is quoted."""
    includeSignature: bool
    """Whether the signature of the inbox is added, below the text and above a quote."""
    replyTo: str
    """Where replies go: one address, or Name <address>. On the free plan this must be an inbox of
    the account; on other plans, any address.
    """
    cc: Sequence[str]
    """Copied recipients."""
    bcc: Sequence[str]
    """Hidden recipients, whom the other recipients do not see."""
    replyAll: bool
    """With threadId: answers all recipients of the newest received message. Without to, its
    Reply-To or else its From becomes the recipient; its other To and Cc addresses are copied.
    The inbox itself and suppressed addresses are left out.
    """
    headers: Mapping[str, str]
    """Up to 20 header fields by name: X-… and List-…, except X-Loop and List-Unsubscribe…. Values
    are printable text of up to 998 characters on one line.
    """
    sendAt: str
    """When to send the message: 1 minute to 90 days ahead. Until then it can be cancelled. Policy,
    suppressions and limits are checked again at that time.
    """
    attachments: Sequence[AttachmentToSend]
    """Files to attach. The encoded message may have up to 25 MiB, which is about 18 MiB of files.
    """
    invite: InviteToSend
    """Makes the message an invitation: the inbox is the organizer, recipients in to are required
    attendees, and recipients in cc are optional attendees. Hidden recipients receive the message
    but are not attendees.
    """
    unsubscribe: bool
    """Whether to add an unsubscribe link (RFC 8058), which puts the recipient on the suppression
    list. Only for messages to one recipient.
    """
    isAutomatic: bool
    """Whether a program sends this without a person. It is then marked with Auto-Submitted (RFC
    3834), so that other programs do not answer it.
    """


class InboxesCheckSendAnswer(Resource):
    """The decision of the inbox policy about a message."""

    decision: Literal["allow", "hold", "reject"]
    """Whether the message would be sent, held or refused."""
    reasons: List[HoldReason]
    """The reasons for holding or refusing the message."""

    _nested = {"reasons": HoldReason}


class Delivery(Resource):
    """The delivery of a message to one recipient."""

    id: str
    """The id."""
    recipient: str
    """The address."""
    status: Literal["queued", "deferred", "accepted", "failed", "unknown", "bounced", "complained"]
    """The delivery status for this recipient."""
    attempts: int
    """Number of delivery attempts."""
    last_attempt_at: str | None
    """When delivery was last attempted; null before the first attempt."""
    next_attempt_at: str | None
    """When delivery is attempted next; null if the outcome is final."""
    host: str | None
    """The server of the last attempt."""
    tls: str | None
    """The TLS version and cipher of the last attempt; null if it was not encrypted."""
    response_code: int | None
    """The reply code of that server (RFC 5321)."""
    enhanced_code: str | None
    """The enhanced status code of that server (RFC 3463), such as 5.1.1."""
    response: str | None
    """The response of the server, or the reason why no server was reached."""
    bounce_class: Literal["hard", "soft", "policy", "full", None]
    """For bounces: hard means that the address does not exist or is disabled; it is suppressed."""


class DraftInvite(Resource):
    """Makes the message an invitation: the inbox is the organizer, recipients in to are required
    attendees, and recipients in cc are optional attendees. Hidden recipients receive the message
    but are not attendees.
    """

    start: str
    """When the event begins: a time with its offset from UTC (2026-12-01T10:00:00+01:00), a local
    time in timezone (2026-12-01T10:00:00), or a day (2026-12-01).
    """
    end: str
    """When the event ends, in the same form as start; for whole days, the first day after the
    event.
    """
    timezone: str | None
    """The IANA name of the time zone in which the event is written, such as Europe/Berlin. Without
    it, times with an offset are written in UTC, and local times without a zone. Not allowed if
    start is a day.
    """
    summary: str | None
    """The title; by default the subject of the message."""
    location: str | None
    """The location of the event."""
    description: str | None
    """Plain text that calendars show with the event."""
    uid: str | None
    """Identifies the event. For an update or a cancellation, use the uid of the first invitation;
    for a new event, it defaults to the providerMessageId without its angle brackets.
    """
    sequence: int | None
    """The version of the event: 0 for a new one (the default), and one more for each update and for
    the cancellation.
    """
    method: Literal["request", "cancel"] | None
    """Whether the event is planned or changed (request, the default) or cancelled (cancel, which
    needs uid).
    """


class DraftAttachments(Resource):
    """A file of a draft."""

    id: str
    """The id."""
    filename: str
    """The file name from the request."""
    content_type: str
    """The media type from the request."""
    size: int
    """In bytes."""
    content_id: str | None
    """The HTML refers to the file as "cid:" followed by this value."""


class Draft(Resource):
    """A message that has not been sent."""

    id: str
    """The id."""
    inbox_id: str
    """The inbox that will send the message."""
    client_id: str | None
    """Chosen by the client, unique among the drafts of the inbox."""
    etag: str
    """The ETag of this version with quotation marks, for If-Match."""
    to: List[str]
    """The recipients."""
    cc: List[str]
    """Copied recipients."""
    bcc: List[str]
    """Hidden recipients."""
    reply_to: str | None
    """The address for replies, with its name."""
    subject: str | None
    """The subject; ignored with threadId."""
    body: str | None
    """The text, in the given format."""
    format: Literal["auto", "text", "html", "markdown"]
    """The format of body: see the same field of a send."""
    body_html: str | None
    """HTML version, if it differs from body."""
    thread_id: str | None
    """The thread that the message replies in."""
    include_quote: bool
    """Whether a reply quotes the original message."""
    include_signature: bool
    """Whether the signature of the inbox is added when the draft is sent."""
    reply_all: bool
    """Whether a reply also goes to the other recipients."""
    headers: Dict[str, str]
    """Additional header fields by name."""
    unsubscribe: bool
    """Whether the message gets an unsubscribe link."""
    is_automatic: bool
    """Whether the message is marked as sent by a program."""
    invite: DraftInvite | None
    """The invitation in the message; null for none."""
    send_at: str | None
    """The scheduled time; null to send the message as soon as the draft is sent."""
    attachments: List[DraftAttachments]
    """The attached files, in order."""
    created_at: str
    """When the draft was created."""
    updated_at: str
    """When the draft was last changed."""

    _nested = {"invite": DraftInvite, "attachments": DraftAttachments}


class _DraftsUpdateInviteRequired(TypedDict):
    start: str
    """When the event begins: a time with its offset from UTC (2026-12-01T10:00:00+01:00), a local
    time in timezone (2026-12-01T10:00:00), or a day (2026-12-01).
    """
    end: str
    """When the event ends, in the same form as start; for whole days, the first day after the
    event.
    """


class DraftsUpdateInvite(_DraftsUpdateInviteRequired, total=False):
    """Makes the message an invitation: the inbox is the organizer, recipients in to are required
    attendees, and recipients in cc are optional attendees. Hidden recipients receive the message
    but are not attendees.
    """

    timezone: str
    """The IANA name of the time zone in which the event is written, such as Europe/Berlin. Without
    it, times with an offset are written in UTC, and local times without a zone. Not allowed if
    start is a day.
    """
    summary: str
    """The title; by default the subject of the message."""
    location: str
    """The location of the event."""
    description: str
    """Plain text that calendars show with the event."""
    uid: str
    """Identifies the event. For an update or a cancellation, use the uid of the first invitation;
    for a new event, it defaults to the providerMessageId without its angle brackets.
    """
    sequence: int
    """The version of the event: 0 for a new one (the default), and one more for each update and for
    the cancellation.
    """
    method: Literal["request", "cancel"]
    """Whether the event is planned or changed (request, the default) or cancelled (cancel, which
    needs uid).
    """


class Upload(Resource):
    """A file to attach to messages."""

    id: str
    """The id, for the uploadId of an attachment."""
    filename: str
    """The file name that recipients see."""
    content_type: str
    """The media type that was declared; the service does not check it."""
    size_bytes: int
    """Size of the file in bytes."""
    sha256: str
    """SHA-256 of the file, in hexadecimal."""
    expires_at: str
    """When the file is removed: 24 hours after it arrived."""


class UploadLink(Resource):
    """A URL to which one file can be uploaded without a key."""

    id: str
    """The id of the upload, once the file has arrived."""
    url: str
    """Signed URL that takes the file once, without a key: curl -T report.pdf "$url"."""
    expires_at: str
    """When the URL stops working: after 15 minutes."""


class ExportProgress(Resource):
    """Progress in messages."""

    done: int
    """Messages written so far."""
    total: int
    """Total messages, counted at the start."""


class Export(Resource):
    """An export of mail."""

    id: str
    """The id."""
    status: Literal["queued", "running", "done", "failed", "expired"]
    """The file can be downloaded while the status is done; it expires after seven days, or when ten
    newer exports of the account are done.
    """
    format: Literal["mbox", "maildir", "jsonl"]
    """An mbox is one file as mboxrd (RFC 4155). A maildir is a tar archive with a Maildir for each
    inbox. A jsonl has a JSON object on each line.
    """
    inbox_id: str | None
    """The exported inbox; null if a pod is exported."""
    pod_id: str | None
    """The exported pod; null if one inbox is exported."""
    progress: ExportProgress
    """Progress in messages."""
    size_bytes: int | None
    """Size of the file in bytes; null until the export is done."""
    url: str | None
    """Signed URL of the file, valid for 15 minutes; each response has a new one. Null unless the
    export is done.
    """
    error: Literal["inbox_deleted", "file_unreadable", "storage_quota_reached", "address_erased",
        "internal_error", None]
    """Why the transfer failed; null if it has not failed. `internal_error`: eight consecutive
    attempts failed because of an internal error.
    """
    error_message: str | None
    """Why the transfer or its last attempt failed; null if no attempt has failed since the last
    progress.
    """
    next_attempt_at: str | None
    """When the next attempt is due after a failed one; null if none is due."""
    created_at: str
    """When the export was requested."""
    completed_at: str | None
    """When the transfer finished or failed."""
    expires_at: str | None
    """When the file is removed; null until it is done."""

    _nested = {"progress": ExportProgress}


class ImportProgress(Resource):
    """Progress in bytes of the file."""

    done: int
    """Bytes read so far."""
    total: int
    """Size of the file in bytes."""


class ImportFailure(Resource):
    """A message of the file that was not imported."""

    number: int
    """The number of the message in the file."""
    name: str | None
    """The name of the message in the archive; null in other files."""
    reason: str
    """Why the message was not imported."""


class ImportSkipped(Resource):
    """Entries of the file that are not regular mail and were not imported."""

    trash: int
    """Messages that were deleted or in the trash in the other program."""
    spam: int
    """Messages that Gmail marked as spam."""
    draft: int
    """Drafts, which were not sent."""
    unfinished: int
    """Unfinished files in a Maildir."""
    other_file: int
    """Files in an archive that are not messages."""


class Import(Resource):
    """An import of mail."""

    id: str
    """The id."""
    status: Literal["queued", "running", "done", "failed"]
    """Whether the file was read completely."""
    format: Literal["mbox", "maildir", "jsonl", "eml"]
    """The format of the file."""
    inbox_id: str
    """The inbox that receives the messages."""
    progress: ImportProgress
    """Progress in bytes of the file."""
    imported: int
    """Messages added to the inbox."""
    duplicates: int
    """Messages that the inbox already had."""
    failed: int
    """Messages that could not be imported."""
    failures: List[ImportFailure]
    """The first 100 failed messages."""
    skipped: ImportSkipped
    """Entries of the file that are not regular mail and were not imported."""
    error: Literal["inbox_deleted", "file_unreadable", "storage_quota_reached", "address_erased",
        "internal_error", None]
    """Why the transfer failed; null if it has not failed. `internal_error`: eight consecutive
    attempts failed because of an internal error.
    """
    error_message: str | None
    """Why the transfer or its last attempt failed; null if no attempt has failed since the last
    progress.
    """
    next_attempt_at: str | None
    """When the next attempt is due after a failed one; null if none is due."""
    created_at: str
    """When the file was received."""
    completed_at: str | None
    """When the transfer finished or failed."""

    _nested = {"progress": ImportProgress, "failures": ImportFailure, "skipped": ImportSkipped}


class ErasureRemoved(Resource):
    """Number of removed items of each kind."""

    messages: int
    """Messages from, to or copied to the address, with their reviews and pending sends."""
    quarantined: int
    """Messages in quarantine."""
    drafts: int
    """Drafts."""
    events: int
    """Entries of the event log, and of the webhook logs about them."""
    correspondents: int
    """Records of who has written to an inbox and whom it has written to."""
    answers: int
    """Stored responses for Idempotency-Keys in which the address was replaced. The keys are stored
    only as hashes.
    """
    audit_entries: int
    """Audit entries in which the address was replaced by a keyed hash."""
    reviews: int
    """Reviews of previously removed messages from or to the address."""
    files: int
    """Exports and imports, which may contain the address."""


class ErasureLeft(Resource):
    """A location that the erasure does not change."""

    place: str
    """Where the address may still exist."""
    note: str
    """Why the address may remain there, and how to remove it."""


class Erasure(Resource):
    """The erasure of an address, and its receipt."""

    id: str
    """The id."""
    status: Literal["queued", "running", "done"]
    """Whether the erasure is complete."""
    address: str | None
    """The address to erase; null once its mail is removed, so that the receipt does not keep the
    address. Copies in database files are then overwritten until the status is done.
    """
    removed: ErasureRemoved
    """Number of removed items of each kind."""
    left: List[ErasureLeft]
    """Where the address or its mail may still exist."""
    error_message: str | None
    """Why the last attempt failed; null if none failed, and once the erasure is done. The erasure
    is retried until everything is removed.
    """
    next_attempt_at: str | None
    """When the next attempt is due, at most an hour after a failed one; null if none is due."""
    created_at: str
    """When the erasure was requested."""
    completed_at: str | None
    """When the erasure finished."""

    _nested = {"removed": ErasureRemoved, "left": ErasureLeft}


class InboxLimitsSendsPerMinute(Resource):
    """Messages that the inbox sends in any 60 seconds. A message that is held for approval counts
    when it is held.
    """

    limit: int | None
    """The maximum; null while this limit does not apply."""
    used: int
    """The amount used."""
    remaining: int | None
    """The remaining amount; null while this limit does not apply."""
    resets_at: str | None
    """When `used` decreases next; null while nothing is used."""


class InboxLimitsSendsPerDay(Resource):
    """Messages that the inbox sends in any 24 hours."""

    limit: int | None
    """The maximum; null while this limit does not apply."""
    used: int
    """The amount used."""
    remaining: int | None
    """The remaining amount; null while this limit does not apply."""
    resets_at: str | None
    """When `used` decreases next; null while nothing is used."""


class InboxLimitsColdRecipientsPerDay(Resource):
    """Recipients per UTC day who have never written to the inbox. This limit applies only to
    inboxes younger than 30 days.
    """

    limit: int | None
    """The maximum; null while this limit does not apply."""
    used: int
    """The amount used."""
    remaining: int | None
    """The remaining amount; null while this limit does not apply."""
    resets_at: str | None
    """When `used` decreases next; null while nothing is used."""


class InboxLimitsAccountColdRecipientsPerDay(Resource):
    """New recipients per UTC day, for all inboxes of the account together."""

    limit: int | None
    """The maximum; null while this limit does not apply."""
    used: int
    """The amount used."""
    remaining: int | None
    """The remaining amount; null while this limit does not apply."""
    resets_at: str | None
    """When `used` decreases next; null while nothing is used."""


class InboxLimitsHeldMessages(Resource):
    """Messages of the inbox that await approval."""

    limit: int | None
    """The maximum; null while this limit does not apply."""
    used: int
    """The amount used."""
    remaining: int | None
    """The remaining amount; null while this limit does not apply."""
    resets_at: str | None
    """When `used` decreases next; null while nothing is used."""


class InboxLimits(Resource):
    """The limits on sending from an inbox, and their usage."""

    sends_per_minute: InboxLimitsSendsPerMinute
    """Messages that the inbox sends in any 60 seconds. A message that is held for approval counts
    when it is held.
    """
    sends_per_day: InboxLimitsSendsPerDay
    """Messages that the inbox sends in any 24 hours."""
    cold_recipients_per_day: InboxLimitsColdRecipientsPerDay
    """Recipients per UTC day who have never written to the inbox. This limit applies only to
    inboxes younger than 30 days.
    """
    account_cold_recipients_per_day: InboxLimitsAccountColdRecipientsPerDay
    """New recipients per UTC day, for all inboxes of the account together."""
    held_messages: InboxLimitsHeldMessages
    """Messages of the inbox that await approval."""

    _nested = {"sendsPerMinute": InboxLimitsSendsPerMinute, "sendsPerDay": InboxLimitsSendsPerDay,
        "coldRecipientsPerDay": InboxLimitsColdRecipientsPerDay,
        "accountColdRecipientsPerDay": InboxLimitsAccountColdRecipientsPerDay,
        "heldMessages": InboxLimitsHeldMessages}


class Suppression(Resource):
    """An address that the account does not send to."""

    id: str
    """The id."""
    address: str
    """The address; compared ignoring case."""
    type: Literal["bounce", "complaint", "unsub", "manual"]
    """Why the address is suppressed: mail bounced, the recipient complained or unsubscribed, or a
    client added it.
    """
    reason: str | None
    """The reason, such as the response of a refusing server."""
    created_at: str
    """When the address was suppressed."""


class SenderRule(Resource):
    """A rule for mail from an address or a domain."""

    id: str
    """The id."""
    type: Literal["allow", "block"]
    """Whether mail from the sender is accepted (allow) or quarantined (block)."""
    value: str
    """An address or a domain in lower case, the domain in A-labels. A domain includes its
    subdomains; with the prefix *. it means only the subdomains.
    """
    pod_id: str | None
    """The pod that the rule applies to; for a rule for one inbox, the pod of that inbox. Null for
    the whole account.
    """
    inbox_id: str | None
    """The inbox that the rule applies to; null for all."""
    require_verified: bool
    """For allow rules: whether the rule applies only to mail with a true
    authentication.verifiedFrom. Always false for block rules, which block all mail that claims
    to be from the sender.
    """
    expires_at: str | None
    """When the rule ends; null for never. A rule that has ended decides nothing and is listed until
    it is removed.
    """
    note: str | None
    """A note for people; null for none."""
    created_at: str
    """When the rule was created."""


class PolicyScope(Resource):
    """The scope of the policy."""

    pod_id: str | None
    """The pod, or the pod of the inbox. Null for the account."""
    inbox_id: str | None
    """The inbox; null for all."""


class PolicyRule(Resource):
    """A rule for senders or recipients."""

    id: str
    """The id."""
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules: an address, a domain with its subdomains, or *. and a domain."""
    require_verified: bool | None
    """For allow rules about senders: as in sender rules."""
    expires_at: str | None
    """When the rule ends; null for never. A rule that has ended decides nothing and is listed until
    it is removed.
    """
    note: str | None
    """A note for people; null for none."""


class PolicyInbound(Resource):
    """Who may write to the inboxes."""

    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    rules: List[PolicyRule]
    """Newest first."""

    _nested = {"rules": PolicyRule}


class PolicyGuards(Resource):
    """The action for mail that triggers a guard: allow it, hold it for an approver, or reject it.
    inherit and null use the setting of the pod, then of the account. In the account, inherit
    means allow, and null means no limit.
    """

    new_recipients: Literal["allow", "hold", "reject", "inherit"]
    """A recipient who has never written to the inbox or received mail from it, and whom no rule
    allows.
    """
    provenance: Literal["allow", "hold", "reject", "inherit"]
    """A new recipient whose address occurs in received mail of the thread or of the last 30 days,
    and whom no rule names, which suggests an injected instruction.
    """
    outside_thread: Literal["allow", "hold", "reject", "inherit"]
    """In a reply, a recipient who is not in a From or Reply-To field of the thread or in a To or Cc
    field of a verified author, and whom no rule allows.
    """
    secrets: Literal["allow", "hold", "reject", "inherit"]
    """Private keys, API tokens, keys of this service, card numbers or IBANs in any field or file of
    the message. A message with a file that cannot be read is held.
    """
    attachments: Literal["allow", "hold", "reject", "inherit"]
    """Attached files, and data: URIs in the HTML."""
    max_per_hour: int | None
    """Maximum sends of an inbox per hour; further sends are held."""


class PolicyOutboundAllowedFindings(Resource):
    """A value that the guard secrets lets pass."""

    kind: str
    """The kind of secret, as in findings."""
    sha256: str
    """SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs."""
    note: str | None
    """A note for people; null for none."""


class PolicyOutbound(Resource):
    """Whom the inboxes may write to, and what they may send."""

    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    rules: List[PolicyRule]
    """Newest first."""
    guards: PolicyGuards
    """The action for mail that triggers a guard: allow it, hold it for an approver, or reject it.
    inherit and null use the setting of the pod, then of the account. In the account, inherit
    means allow, and null means no limit.
    """
    allowed_findings: List[PolicyOutboundAllowedFindings]
    """Values that the guard secrets lets pass."""

    _nested = {"rules": PolicyRule, "guards": PolicyGuards,
        "allowedFindings": PolicyOutboundAllowedFindings}


class ScopedPolicyRule(PolicyRule):
    """A rule, and the policy that it belongs to."""

    direction: Direction
    """Whether the rule is for senders (inbound) or recipients (outbound)."""
    pod_id: str | None
    """The pod, or the pod of the inbox. Null for the account."""
    inbox_id: str | None
    """The inbox; null for all."""


class PolicyEffectiveInbound(Resource):
    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    mode_from: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    rules: List[ScopedPolicyRule]
    """All applicable rules that have not ended; the first match decides. Order: inbox, pod,
    account; address, longer domain, shorter domain; block, allow.
    """

    _nested = {"rules": ScopedPolicyRule}


class PolicyEffectiveOutboundGuardsFrom(Resource):
    """The policy that each guard comes from."""

    new_recipients: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    provenance: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    outside_thread: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    secrets: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    attachments: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    max_per_hour: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""


class PolicyEffectiveOutboundAllowedFindings(Resource):
    kind: str
    """The kind of secret, as in findings."""
    sha256: str
    """SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs."""
    note: str | None
    """A note for people; null for none."""
    from_: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""


class PolicyEffectiveOutbound(Resource):
    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    mode_from: Literal["account", "pod", "inbox"]
    """The policy that contains the setting or rule."""
    rules: List[ScopedPolicyRule]
    """All applicable rules that have not ended; the first match decides. Order: inbox, pod,
    account; address, longer domain, shorter domain; block, allow.
    """
    guards: PolicyGuards
    """The action for mail that triggers a guard: allow it, hold it for an approver, or reject it.
    inherit and null use the setting of the pod, then of the account. In the account, inherit
    means allow, and null means no limit.
    """
    guards_from: PolicyEffectiveOutboundGuardsFrom
    """The policy that each guard comes from."""
    allowed_findings: List[PolicyEffectiveOutboundAllowedFindings]
    """The values that any of these policies allows, without duplicates."""

    _nested = {"rules": ScopedPolicyRule, "guards": PolicyGuards,
        "guardsFrom": PolicyEffectiveOutboundGuardsFrom,
        "allowedFindings": PolicyEffectiveOutboundAllowedFindings}


class PolicyEffective(Resource):
    """The effective policy, including the wider policies. It never contains inherit."""

    inbound: PolicyEffectiveInbound
    outbound: PolicyEffectiveOutbound

    _nested = {"inbound": PolicyEffectiveInbound, "outbound": PolicyEffectiveOutbound}


class Policy(Resource):
    """The policy of an account, a pod or an inbox."""

    scope: PolicyScope
    """The scope of the policy."""
    etag: str
    """The ETag of inbound and outbound with quotation marks, for If-Match. Wider policies do not
    change it.
    """
    inbound: PolicyInbound
    """Who may write to the inboxes."""
    outbound: PolicyOutbound
    """Whom the inboxes may write to, and what they may send."""
    effective: PolicyEffective
    """The effective policy, including the wider policies. It never contains inherit."""

    _nested = {"scope": PolicyScope, "inbound": PolicyInbound, "outbound": PolicyOutbound,
        "effective": PolicyEffective}


class _PolicyReplaceInboundRulesRequired(TypedDict):
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules."""


class PolicyReplaceInboundRules(_PolicyReplaceInboundRulesRequired, total=False):
    expiresAt: str | None
    """When the rule ends: a future time, at most 36500 days ahead. Default: never."""
    note: str | None
    """A note for people. Default: none."""
    requireVerified: bool
    """For allow rules about senders: as in sender rules."""
    id: str
    """Ignored; an equal rule keeps its id."""


class PolicyReplaceInbound(TypedDict, total=False):
    """Replaces the rules for senders."""

    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    rules: Sequence[PolicyReplaceInboundRules]
    """All rules, existing or new. Default: none."""


class _PolicyReplaceOutboundRulesRequired(TypedDict):
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules."""


class PolicyReplaceOutboundRules(_PolicyReplaceOutboundRulesRequired, total=False):
    expiresAt: str | None
    """When the rule ends: a future time, at most 36500 days ahead. Default: never."""
    note: str | None
    """A note for people. Default: none."""
    requireVerified: bool
    """For allow rules about senders: as in sender rules."""
    id: str
    """Ignored; an equal rule keeps its id."""


class PolicyReplaceOutboundGuards(TypedDict, total=False):
    newRecipients: Literal["allow", "hold", "reject", "inherit"]
    """As in PolicyGuards."""
    provenance: Literal["allow", "hold", "reject", "inherit"]
    """As in PolicyGuards."""
    outsideThread: Literal["allow", "hold", "reject", "inherit"]
    """As in PolicyGuards."""
    secrets: Literal["allow", "hold", "reject", "inherit"]
    """As in PolicyGuards."""
    attachments: Literal["allow", "hold", "reject", "inherit"]
    """As in PolicyGuards."""
    maxPerHour: int | None
    """As in PolicyGuards."""


class _PolicyReplaceOutboundAllowedFindingsRequired(TypedDict):
    kind: str
    """The kind of secret, as in findings."""
    sha256: str
    """SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs."""


class PolicyReplaceOutboundAllowedFindings(_PolicyReplaceOutboundAllowedFindingsRequired, total=False):
    note: str | None
    """A note for people. Default: none."""


class PolicyReplaceOutbound(TypedDict, total=False):
    """Replaces the rules for recipients, the guards and the allowed values."""

    mode: Literal["none", "allowlist", "inherit"]
    """none: everyone except those blocked by a rule. allowlist: only those allowed by a rule.
    inherit: the mode of the pod, then of the account.
    """
    rules: Sequence[PolicyReplaceOutboundRules]
    """All rules, existing or new. Default: none."""
    guards: PolicyReplaceOutboundGuards
    allowedFindings: Sequence[PolicyReplaceOutboundAllowedFindings]
    """Values that the guard secrets lets pass, under this policy and narrower ones. Default: none.
    """


class PolicyAuditEntryActor(Resource):
    kind: Literal["key", "approver", "operator"]
    """The kind of actor; the operator uses commands on the server."""
    id: str | None
    """Id of the key or the approver."""


class PolicyChangeAddedFirst(Resource):
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules: an address, a domain with its subdomains, or *. and a domain."""


class PolicyChangeAdded(Resource):
    """Rules that were added."""

    count: int
    """The number of rules."""
    first: List[PolicyChangeAddedFirst]
    """The first hundred rules."""

    _nested = {"first": PolicyChangeAddedFirst}


class PolicyChangeRemovedFirst(Resource):
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules: an address, a domain with its subdomains, or *. and a domain."""


class PolicyChangeRemoved(Resource):
    """Rules that were removed."""

    count: int
    """The number of rules."""
    first: List[PolicyChangeRemovedFirst]
    """The first hundred rules."""

    _nested = {"first": PolicyChangeRemovedFirst}


class PolicyChangeChangedFirst(Resource):
    type: Literal["allow", "block"]
    """Whether the rule allows or blocks."""
    value: str
    """As in sender rules: an address, a domain with its subdomains, or *. and a domain."""


class PolicyChangeChanged(Resource):
    """Rules whose end, note or verification was changed."""

    count: int
    """The number of rules."""
    first: List[PolicyChangeChangedFirst]
    """The first hundred rules."""

    _nested = {"first": PolicyChangeChangedFirst}


class PolicyChangeAllowedFindingsAdded(Resource):
    """A value that the guard secrets lets pass."""

    kind: str
    """The kind of secret, as in findings."""
    sha256: str
    """SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs."""
    note: str | None
    """A note for people; null for none."""


class PolicyChangeAllowedFindingsRemoved(Resource):
    """A value that the guard secrets lets pass."""

    kind: str
    """The kind of secret, as in findings."""
    sha256: str
    """SHA-256 in hexadecimal of the secret in UTF-8, exactly as it occurs."""
    note: str | None
    """A note for people; null for none."""


class PolicyChangeAllowedFindings(Resource):
    """The change of allowedFindings, if any."""

    added: List[PolicyChangeAllowedFindingsAdded]
    """Values allowed by the change."""
    removed: List[PolicyChangeAllowedFindingsRemoved]
    """Values no longer allowed."""

    _nested = {"added": PolicyChangeAllowedFindingsAdded,
        "removed": PolicyChangeAllowedFindingsRemoved}


class PolicyChange(Resource):
    """A change of a policy."""

    mode_before: str | None
    """The mode before the change. This and the other three fields are null if the change did not
    affect them.
    """
    mode_after: str | None
    """The mode after the change."""
    guards_before: PolicyGuards | None
    guards_after: PolicyGuards | None
    added: PolicyChangeAdded
    """Rules that were added."""
    removed: PolicyChangeRemoved
    """Rules that were removed."""
    changed: PolicyChangeChanged | None
    """Rules whose end, note or verification was changed."""
    allowed_findings: PolicyChangeAllowedFindings | None
    """The change of allowedFindings, if any."""

    _nested = {"guardsBefore": PolicyGuards, "guardsAfter": PolicyGuards,
        "added": PolicyChangeAdded, "removed": PolicyChangeRemoved, "changed": PolicyChangeChanged,
        "allowedFindings": PolicyChangeAllowedFindings}


class PolicyAuditEntryApprover(Resource):
    id: str
    """The id of the approver."""
    name: str
    """The name of the approver."""


class PolicyAuditEntry(Resource):
    """A policy decision or a policy change."""

    id: str
    """The id."""
    created_at: str
    """When the decision or change was made."""
    direction: Direction
    """Whether the rule is for senders (inbound) or recipients (outbound)."""
    decision: Literal["allow", "hold", "reject", "quarantine", "change", "approved", "rejected",
        "expired", "edited", "commented", "approver_created", "approver_deleted", "erasure"]
    """For mail: sent while a policy applied (allow), held for an approver, refused (reject) or
    quarantined. For held mail: approved, rejected or expired. Otherwise a change of the policy
    or the approvers, or an erasure.
    """
    pod_id: str | None
    """The pod, or the pod of the inbox. Null for the account."""
    inbox_id: str | None
    """The inbox; null for all."""
    message_id: str | None
    """The id of the message; for quarantined mail, its quarantine id. Null if there is no message.
    """
    sender: str | None
    """The From field of quarantined mail."""
    recipients: List[str]
    """The recipients, if the entry is about mail."""
    reasons: List[HoldReason]
    """The reasons for the decision, if the entry is about mail."""
    actor: PolicyAuditEntryActor | None
    """Who made the decision or change; null if the policy decided or the review expired."""
    change: PolicyChange | None
    """The change, if a policy was changed."""
    review_id: str | None
    """The review, if held mail was decided."""
    note: str | None
    """The reason given for the decision about held mail, if any."""
    approver: PolicyAuditEntryApprover | None
    """The approver that was created or deleted."""
    erasure_id: str | None
    """The erasure that was requested."""

    _nested = {"reasons": HoldReason, "actor": PolicyAuditEntryActor, "change": PolicyChange,
        "approver": PolicyAuditEntryApprover}


class OwnAccount(Resource):
    """The account that a key belongs to."""

    id: str
    """The id."""
    name: str
    """The display name."""
    plan: Literal["free", "developer", "launch"]
    """The plan decides how many inboxes the account may have."""
    inbox_limit: int
    """How many inboxes the plan allows, over all pods."""
    filter_mode: Literal["none", "allowlist"]
    """Accepts mail from everyone except blocked senders (none), or only from allowed senders
    (allowlist).
    """
    retention_days: int | None
    """Messages are removed this many days after they were stored, unless their pod or inbox has its
    own setting; null to keep them.
    """
    undo_seconds: int
    """Every send waits this many seconds as a scheduled message, which can be cancelled. 0 sends
    immediately. Inboxes may have their own setting.
    """
    created_at: str
    """When the account was created."""


class AccountMeAnswer(Resource):
    """The account and the key of the request."""

    account_id: str
    """The account of the key."""
    name: str
    """The display name of the account."""
    plan: Literal["free", "developer", "launch"]
    """The plan decides how many inboxes the account may have."""
    api_key_scope: Literal["account"]
    """The scope of the key: the whole account."""
    key_id: str
    """The id of the key that made the request."""
    customer_id: str
    """The same as accountId, for clients that know it by this name."""
    mcp_scopes: None
    """Always null: a key is not limited to scopes."""


class QuarantinedMessage(Resource):
    """A quarantined message."""

    id: str
    """Assigned by the service. A released message gets a new id."""
    inbox_id: str
    """The inbox that the message was sent to."""
    pod_id: str
    """The pod of that inbox."""
    from_addr: str
    """The sender in the message: "Name <address>" or the bare address."""
    to_addr: str
    """The address of the inbox."""
    delivery_role: Literal["to", "cc"]
    """The cc role means that the inbox was copied."""
    subject: str
    """Empty when the message has none."""
    reason: Literal["blocked", "not_allowed", "not_verified", "malware"]
    """Why the message was quarantined: a rule blocks its sender, no rule allows it, a rule allows
    only verified mail, or the virus scanner found malware.
    """
    rule_id: str | None
    """The rule that blocked the sender; it may have been deleted since. Null if no rule allowed the
    sender.
    """
    authentication: Authentication | None
    """SPF, DKIM and DMARC results on arrival."""
    created_at: str
    """When the message arrived."""
    expires_at: str
    """When the message is deleted permanently."""

    _nested = {"authentication": Authentication}


class QuarantinedContentAttachments(Resource):
    """A file in a quarantined message. It cannot be downloaded separately."""

    filename: str
    """A safe file name, unique within the message."""
    content_type: str
    """The media type that the message declares."""
    size_bytes: int
    """Size of the decoded content in bytes."""


class QuarantinedContent(QuarantinedMessage):
    """A quarantined message with its text."""

    body_text: str
    """The first 20,000 characters of the text body, which is converted from HTML if the message has
    no text.
    """
    is_truncated: bool
    """Whether the text is longer."""
    attachments: List[QuarantinedContentAttachments]
    """The files in the message."""

    _nested = {"authentication": Authentication, "attachments": QuarantinedContentAttachments}


class ThreadEvent(Resource):
    """The fields of every event of a thread."""

    event_id: str
    """Identifies the event; the same in every delivery of it."""
    occurred_at: str
    """When the event happened."""
    delivered_at: str
    """When this copy of the event was delivered."""
    attempt: int
    """The number of the webhook delivery attempt; 1 for all other ways of reading events."""
    inbox_id: str
    """The inbox of the thread."""
    pod_id: str | None
    """The pod of the inbox or the domain; null if none."""
    thread_id: str
    """The thread."""


class EventAttachment(Resource):
    """A file in the message of an event."""

    filename: str
    """A safe file name, unique within the message."""
    content_type: str
    """The media type that the message declares."""
    size_bytes: int
    """Size of the decoded content in bytes."""
    url: str
    """Signed download address. It expires, so fetch it promptly."""
    content_id: str | None
    """Content-ID without angle brackets, for "cid:" links in body_html."""
    is_inline: bool
    """Whether the file is shown in the body of the message."""
    parsed_text: str | None
    """The extracted text of the file, up to 50,000 characters, and up to 500,000 for all files of a
    message. The sender wrote it, so treat it as data. Null until it was extracted, and if there
    is none. GET /v1/attachments/{messageId}/{filename}/text extracts it immediately and returns
    all of it.
    """
    extraction_method: Literal["pdf", "office", "csv", "text", "html", "ocr", "unsupported",
        "failed", "too_large", None]
    """How the text was extracted, or why it could not be. Null until the file was read."""


class EventMessage(Resource):
    """The message of the event."""

    id: str
    """The id of the message."""
    rfc_message_id: str | None
    """The Message-ID with its angle brackets."""
    direction: Direction
    """Whether the inbox received or sent the message."""
    from_: str
    """The sender, "Name <address>" or the bare address."""
    to: str
    """A single address, so that it can be compared. Inbound: the address of the inbox. Outbound:
    the first recipient.
    """
    to_addrs: List[str]
    """All addresses in the To field, like `to` of a message in the API. Outbound: all recipients
    except cc and bcc.
    """
    recipient: str | None
    """Inbound: the address from the RCPT command, as the sending server spelled it. Null for
    outbound mail.
    """
    tag: str | None
    """The part of recipient after the "+"; null without one."""
    cc: List[str]
    """Addresses copied on the message."""
    subject: str
    """Empty when the message has none."""
    body_text: str
    """The text body; converted from HTML, without hidden text, if the message has no text or a
    blank one.
    """
    body_html: str
    """The HTML body as sent, with any hidden text; empty when the message has none."""
    extracted_text: str
    """The new text of a reply, without the quoted history; part of body_text or, if the text body
    differs from the HTML, of the visible text of the HTML.
    """
    hidden_text: bool
    """Whether the inbound message has text that a person cannot see, text that may or may not be
    visible, or HTML or styles that were not searched for hidden text. Hidden text may be in the
    HTML body, in a text body written by the sender, and in attachments that mail programs do not
    show. Text converted from HTML excludes hidden text, except for the kind unclear and in HTML
    too large or deep to be parsed.
    """
    hidden_text_parts: List[HiddenTextPart]
    """Hidden text by kind. Empty if there is none, and always empty for outbound mail."""
    extracted: Extracted | None
    """Verification codes, links and invitations of the message; null on outbound mail."""
    truncated: bool
    """Whether a body was truncated at 256 KiB. The message at url has the complete body."""
    url: str
    """API URL of the complete message; requires an API key."""
    attachments: List[EventAttachment]
    """The files in the message."""
    authentication: Authentication | None
    """SPF, DKIM and DMARC results; null for outbound mail."""
    automatic: bool
    """Whether a program sent the message. Do not reply to it automatically."""
    auto_replyable: bool
    """Whether a program may answer without causing a loop: false for mail from programs and lists,
    for reports and spam, whenever automatic is true, and on outbound mail.
    """
    category: MessageCategory | None
    """The category of the mail, which is personal in case of doubt. Null on outbound mail.
    Determined once, on arrival, from the header, the envelope and the operator’s scanner, if
    any.
    """
    category_reasons: List[CategoryReason]
    """The rules that matched; empty for mail without signs of a program or a list."""
    verdict: Literal["clean", "spam", "malicious", None]
    """The verdict of scanners and relaying servers; clean unless one of them reported a problem.
    Null on outbound mail and if the scanner did not answer.
    """
    spam_score: float | None
    """The score of the spam scanner; null if there is none, or if it did not answer."""
    failure_reason: str | None
    """The response of the server that refused the message."""
    received_at: str | None
    """Inbound only: when the message was received."""
    sent_at: str | None
    """Outbound only: when the message was queued, after any approval and scheduled time. While it
    is held or scheduled: when it was accepted.
    """

    _nested = {"hidden_text_parts": HiddenTextPart, "extracted": Extracted,
        "attachments": EventAttachment, "authentication": Authentication,
        "category_reasons": CategoryReason}


class MessageEvent(ThreadEvent):
    """The fields of every event of a message."""

    message: EventMessage
    """The message of the event."""

    _nested = {"message": EventMessage}


class MessageReceivedEvent(MessageEvent):
    """Mail arrived at an inbox."""

    event: Literal["message.received"]
    """The event type."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage}


class EventQuarantined(Resource):
    """The quarantined message of the event, without its text."""

    id: str
    """The id of the quarantined message."""
    from_: str
    """The sender in the message: "Name <address>" or the bare address."""
    to: str
    """The address of the inbox."""
    subject: str
    """Empty when the message has none."""
    reason: Literal["blocked", "not_allowed", "not_verified", "malware"]
    """Why the message was quarantined."""
    rule_id: str | None
    """The rule that blocked the sender; null without one."""
    auto_replyable: bool
    """Always false, because a message outside any inbox cannot be answered."""
    category: MessageCategory | None
    """The category of the mail, which is personal in case of doubt. Null on outbound mail.
    Determined once, on arrival, from the header, the envelope and the operator’s scanner, if
    any.
    """
    category_reasons: List[CategoryReason]
    """The rules that matched; empty for mail without signs of a program or a list."""
    verdict: Literal["clean", "spam", "malicious", None]
    """The verdict of scanners and relaying servers; clean unless one of them reported a problem.
    Null on outbound mail and if the scanner did not answer.
    """
    spam_score: float | None
    """The score of the spam scanner; null if there is none, or if it did not answer."""

    _nested = {"category_reasons": CategoryReason}


class MessageQuarantinedEvent(Resource):
    """Mail for an inbox was quarantined by a rule or for malware."""

    event_id: str
    """Identifies the event; the same in every delivery of it."""
    occurred_at: str
    """When the event happened."""
    delivered_at: str
    """When this copy of the event was delivered."""
    attempt: int
    """The number of the webhook delivery attempt; 1 for all other ways of reading events."""
    inbox_id: str
    """The inbox that the mail was for."""
    pod_id: str | None
    """The pod of the inbox or the domain; null if none."""
    thread_id: str | None
    """The thread of the event; null if none."""
    event: Literal["message.quarantined"]
    """The event type."""
    quarantined: EventQuarantined
    """The quarantined message of the event, without its text."""
    message: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"quarantined": EventQuarantined}


class MessageSentEvent(MessageEvent):
    """The delivery to every recipient is final, and at least one server accepted the message."""

    event: Literal["message.sent"]
    """The event type."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage}


class MessageFailedEvent(MessageEvent):
    """The delivery to every recipient is final, and no server accepted the message."""

    event: Literal["message.failed"]
    """The event type."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage}


class EventBounce(Resource):
    """Why a message could not be delivered to a recipient."""

    class_: Literal["hard", "soft", "policy", "full"]
    """The kind of bounce; hard means that the address does not exist or is disabled."""
    enhanced_code: str | None
    """The enhanced status code (RFC 3463), such as 5.1.1."""
    response: str
    """The text of the report."""


class MessageBouncedEvent(MessageEvent):
    """A report says that an accepted message could not be delivered to a recipient."""

    event: Literal["message.bounced"]
    """The event type."""
    recipient: str
    """The recipient that bounced or complained."""
    bounce: EventBounce
    """Why a message could not be delivered to a recipient."""
    quarantined: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "bounce": EventBounce}


class MessageComplainedEvent(MessageEvent):
    """A recipient reported a message as unwanted."""

    event: Literal["message.complained"]
    """The event type."""
    recipient: str
    """The recipient that bounced or complained."""
    quarantined: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage}


class EventHold(Resource):
    """Why the message is held."""

    id: str
    """The id of the review."""
    reasons: List[HoldReason]
    """Why a decision by a person is required."""
    digest: str
    """SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:"."""
    expires_at: str
    """When the message is rejected without a decision."""

    _nested = {"reasons": HoldReason}


class MessageHeldEvent(MessageEvent):
    """A message is held until a person approves it."""

    event: Literal["message.held"]
    """The event type."""
    hold: EventHold
    """Why the message is held."""
    quarantined: None
    recipient: None
    bounce: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "hold": EventHold}


class EventReview(Resource):
    """The review of the message."""

    id: str
    """The id of the review."""
    status: Literal["pending", "approved", "rejected", "expired"]
    """The status of the review; in message.rejected, how it ended."""
    reason: str | None
    """The reason given with the decision; null for none."""


class MessageRejectedEvent(MessageEvent):
    """A person rejected a message, or its approval expired. It is not sent."""

    event: Literal["message.rejected"]
    """The event type."""
    review: EventReview
    """The review of the message."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "review": EventReview}


class EventEditedReview(EventReview):
    """The review of the edited message."""

    digest: str
    """The digest that an approval must contain."""
    changed: List[Literal["to", "cc", "bcc", "subject", "body", "bodyHtml", "attachments"]]
    """The changed fields."""


class MessageReviewEditedEvent(MessageEvent):
    """An approver edited a held message, which is still held."""

    event: Literal["message.review_edited"]
    """The event type."""
    review: EventEditedReview
    """The review of the edited message."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "review": EventEditedReview}


class EventCommentedReview(EventReview):
    """The review with a new comment."""

    comment_id: str
    """The id of the new comment."""


class MessageReviewCommentedEvent(MessageEvent):
    """An approver or a key commented on a held or decided message."""

    event: Literal["message.review_commented"]
    """The event type."""
    review: EventCommentedReview
    """The review with a new comment."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "review": EventCommentedReview}


class EventExtraction(Resource):
    """The attachment whose text was extracted."""

    filename: str
    """The filename of the attachment entry."""
    content_type: str
    """The media type that the message declares."""
    extraction_method: Literal["pdf", "office", "csv", "text", "html", "ocr", "unsupported",
        "failed", "too_large"]
    """How the text was extracted, or why it could not be. It is in parsedText of the entry in
    message.
    """
    is_truncated: bool
    """Whether the file has more text than was extracted."""


class AttachmentExtractedEvent(MessageEvent):
    """Text extraction from an attachment succeeded or failed, either after its message arrived or
    on request.
    """

    event: Literal["attachment.extracted"]
    """The event type."""
    attachment: EventExtraction
    """The attachment whose text was extracted."""
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"message": EventMessage, "attachment": EventExtraction}


class ThreadLoopSuspectedEvent(ThreadEvent):
    """Two programs seem to reply to each other endlessly in a thread."""

    event: Literal["thread.loop_suspected"]
    """The event type."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None


class EventThread(Resource):
    """The changed thread. GET /v1/threads/{id} has its metadata."""

    changed: List[Literal["is_read", "labels", "metadata", "assignee", "snoozed_until"]]
    """The fields that changed."""
    is_read: bool
    """The read state after the change."""
    labels: List[str]
    """The labels after the change, sorted."""
    assignee: str | None
    """The assignee after the change; null for none."""
    snoozed_until: str | None
    """When the snooze of the thread ends; null if it is not snoozed."""


class ThreadUpdatedEvent(ThreadEvent):
    """A client changed the read flag, labels, metadata, assignee or snooze of a thread. Not emitted
    when mail is received or sent.
    """

    event: Literal["thread.updated"]
    """The event type."""
    thread: EventThread
    """The changed thread. GET /v1/threads/{id} has its metadata."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"thread": EventThread}


class EventClaim(Resource):
    """The claim on the thread."""

    owner: str
    """The owner in the claim."""
    fence: int
    """The number of the claim; later claims of the thread have higher numbers."""
    expires_at: str
    """When the lease expires unless it is renewed, or when it expired."""


class ThreadClaimedEvent(ThreadEvent):
    """A worker claimed a thread. Not emitted for renewals."""

    event: Literal["thread.claimed"]
    """The event type."""
    claim: EventClaim
    """The claim on the thread."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"claim": EventClaim}


class EventReleasedClaim(EventClaim):
    """The claim that ended."""

    reason: Literal["released", "expired"]
    """How the claim ended: its worker released it, or its lease expired."""


class ThreadReleasedEvent(ThreadEvent):
    """A worker released its claim on a thread, or its lease expired."""

    event: Literal["thread.released"]
    """The event type."""
    claim: EventReleasedClaim
    """The claim that ended."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"claim": EventReleasedClaim}


class EventEnvelope(Resource):
    """The fields of every event."""

    event_id: str
    """Identifies the event; the same in every delivery of it."""
    occurred_at: str
    """When the event happened."""
    delivered_at: str
    """When this copy of the event was delivered."""
    attempt: int
    """The number of the webhook delivery attempt; 1 for all other ways of reading events."""
    inbox_id: str | None
    """The inbox of the event; null if none."""
    pod_id: str | None
    """The pod of the inbox or the domain; null if none."""
    thread_id: str | None
    """The thread of the event; null if none."""


class EventInbox(Resource):
    """The inbox that deleted itself."""

    id: str
    """The former id of the inbox."""
    address: str
    """The email address of the inbox."""
    expires_at: str
    """When the inbox was set to expire."""


class InboxExpiredEvent(EventEnvelope):
    """An inbox deleted itself at its `expiresAt`."""

    event: Literal["inbox.expired"]
    """The event type."""
    inbox: EventInbox
    """The inbox that deleted itself."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"inbox": EventInbox}


class EventApprover(Resource):
    """The approver of the event."""

    id: str
    """The id of the approver."""
    name: str
    """The display name."""


class ApproverCreatedEvent(EventEnvelope):
    """An approver was created by a key, by another approver or on the server."""

    event: Literal["approver.created"]
    """The event type."""
    approver: EventApprover
    """The approver of the event."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    domain: None
    webhook: None
    storage: None

    _nested = {"approver": EventApprover}


class ApproverDeletedEvent(EventEnvelope):
    """An approver was deleted."""

    event: Literal["approver.deleted"]
    """The event type."""
    approver: EventApprover
    """The approver of the event."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    domain: None
    webhook: None
    storage: None

    _nested = {"approver": EventApprover}


class EventDomain(Resource):
    """The custom domain of the event."""

    id: str
    """The id of the domain."""
    domain: str
    """The name of the domain, in lower-case A-labels."""
    status: Literal["pending", "verified", "degraded", "failed"]
    """The new status."""
    pod_id: str | None
    """The only pod that may use the domain; null for all pods."""


class DomainVerifiedEvent(EventEnvelope):
    """The DNS records of a custom domain are correct."""

    event: Literal["domain.verified"]
    """The event type."""
    domain: EventDomain
    """The custom domain of the event."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    webhook: None
    storage: None

    _nested = {"domain": EventDomain}


class DomainFailedEvent(EventEnvelope):
    """The DNS records of a custom domain have been wrong or missing for too long."""

    event: Literal["domain.failed"]
    """The event type."""
    domain: EventDomain
    """The custom domain of the event."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    webhook: None
    storage: None

    _nested = {"domain": EventDomain}


class EventWebhook(Resource):
    """The webhook of the event."""

    id: str
    """The id of the webhook."""
    url: str
    """The URL that events are posted to."""


class EventDisabledWebhook(EventWebhook):
    """The webhook that was disabled."""

    reason: Literal["by_request", "failing"]
    """Why the webhook was disabled."""


class WebhookDisabledEvent(EventEnvelope):
    """A webhook was disabled after failing for five days."""

    event: Literal["webhook.disabled"]
    """The event type."""
    webhook: EventDisabledWebhook
    """The webhook that was disabled."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    storage: None

    _nested = {"webhook": EventDisabledWebhook}


class EventStorage(Resource):
    """The storage of the account."""

    stored_bytes: int
    """Bytes of mail that the account stores."""
    limit_bytes: int
    """The number of bytes that the account may store."""


class AccountQuotaExceededEvent(EventEnvelope):
    """The account reached its storage quota, and mail to its inboxes is refused. Emitted once each
    time the quota is reached.
    """

    event: Literal["account.quota_exceeded"]
    """The event type."""
    storage: EventStorage
    """The storage of the account."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None

    _nested = {"storage": EventStorage}


class WebhookTestEvent(EventEnvelope):
    """A webhook was tested; only that webhook receives the event."""

    event: Literal["webhook.test"]
    """The event type."""
    webhook: EventWebhook
    """The webhook of the event."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    review: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    storage: None

    _nested = {"webhook": EventWebhook}


class ReviewCreated(EventReview):
    """The new review."""

    message_id: str
    """The id of the held message."""
    digest: str
    """The digest that an approval must contain."""
    reasons: List[HoldReason]
    """Why a decision by a person is required."""
    expires_at: str
    """When the message is rejected without a decision."""

    _nested = {"reasons": HoldReason}


class ReviewCreatedEvent(EventEnvelope):
    """A message was held and awaits a decision. Only webhooks of approvers get this event."""

    event: Literal["review.created"]
    """The event type."""
    review: ReviewCreated
    """The new review."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"review": ReviewCreated}


class ReviewEdited(EventReview):
    """The review of the edited message."""

    message_id: str
    """The id of the held message."""
    digest: str
    """The digest that an approval must contain."""
    reasons: List[HoldReason]
    """Why a decision by a person is required."""
    changed: List[Literal["to", "cc", "bcc", "subject", "body", "bodyHtml", "attachments"]]
    """The changed fields."""
    edited_by: str
    """The id of the approver who edited."""

    _nested = {"reasons": HoldReason}


class ReviewEditedEvent(EventEnvelope):
    """An approver edited a held message. Only webhooks of approvers get this event."""

    event: Literal["review.edited"]
    """The event type."""
    review: ReviewEdited
    """The review of the edited message."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"review": ReviewEdited}


class ReviewCommented(EventReview):
    """The review with a new comment."""

    message_id: str
    """The id of the held message."""
    comment_id: str
    """The id of the new comment."""
    author_id: str
    """The id of the approver or the key that commented."""


class ReviewCommentedEvent(EventEnvelope):
    """An approver or a key commented on a review. Only webhooks of approvers get this event."""

    event: Literal["review.commented"]
    """The event type."""
    review: ReviewCommented
    """The review with a new comment."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"review": ReviewCommented}


class ReviewDecided(EventReview):
    """The review, which has ended."""

    message_id: str
    """The id of the held message."""
    decided_by: str | None
    """The id of the approver who decided; null for none."""


class ReviewDecidedEvent(EventEnvelope):
    """A review was approved or rejected, expired, or ended because its message was cancelled or
    removed. Only webhooks of approvers get this event.
    """

    event: Literal["review.decided"]
    """The event type."""
    review: ReviewDecided
    """The review, which has ended."""
    message: None
    quarantined: None
    recipient: None
    bounce: None
    hold: None
    attachment: None
    thread: None
    claim: None
    inbox: None
    approver: None
    domain: None
    webhook: None
    storage: None

    _nested = {"review": ReviewDecided}


Event = Union[
    MessageReceivedEvent,
    MessageQuarantinedEvent,
    MessageSentEvent,
    MessageFailedEvent,
    MessageBouncedEvent,
    MessageComplainedEvent,
    MessageHeldEvent,
    MessageRejectedEvent,
    MessageReviewEditedEvent,
    MessageReviewCommentedEvent,
    AttachmentExtractedEvent,
    ThreadLoopSuspectedEvent,
    ThreadUpdatedEvent,
    ThreadClaimedEvent,
    ThreadReleasedEvent,
    InboxExpiredEvent,
    ApproverCreatedEvent,
    ApproverDeletedEvent,
    DomainVerifiedEvent,
    DomainFailedEvent,
    WebhookDisabledEvent,
    AccountQuotaExceededEvent,
    WebhookTestEvent,
    ReviewCreatedEvent,
    ReviewEditedEvent,
    ReviewCommentedEvent,
    ReviewDecidedEvent,
]
"""An event of an account. Its type is in `event`."""


class InboxesWaitAnswer(Resource):
    message: Message | None
    """The message; null when none matched in time."""

    _nested = {"message": Message}


class Webhook(Resource):
    """A URL that receives the events of the account as POST requests."""

    id: str
    """The id."""
    url: str
    """The URL that events are posted to."""
    event_types: List[EventType]
    """The event types that are delivered; empty for all."""
    pod_ids: List[str]
    """Pods whose events are delivered, in addition to inboxIds. If both are empty, all events are
    delivered.
    """
    inbox_ids: List[str]
    """Inboxes whose events are delivered, in addition to podIds. If both are empty, all events are
    delivered.
    """
    categories: List[MessageCategory]
    """Limits events of received mail to these categories; empty for all. Other events are not
    affected.
    """
    enabled: bool
    """Whether events are delivered."""
    disabled_reason: Literal["by_request", "failing", None]
    """Why the webhook is disabled: by request, or after failing for five days. Null while it is
    enabled.
    """
    disabled_at: str | None
    """When delivery to this webhook was disabled; null while it is enabled."""
    failing_since: str | None
    """When the first attempt since the last success failed; null while deliveries succeed. The
    webhook is disabled after failing for five days. Failed tests are ignored.
    """
    last_error: Literal["status", "redirect", "timeout", "forbidden_address", "dns_failed",
        "connection_failed", "tls_failed", "protocol_error", "internal_error", "webhook_disabled",
        None]
    """While the webhook is failing: why the latest failed attempt failed; otherwise null."""
    last_response_status: int | None
    """While the webhook is failing: the HTTP status of that attempt; null without a response."""
    last_failure_at: str | None
    """While the webhook is failing: when the latest failed attempt began; otherwise null."""
    consecutive_failures: int
    """Failed attempts since the last success, for all events together; tests do not count. Up to
    10,000.
    """
    next_attempt_at: str | None
    """While the webhook is failing and enabled: when the next retry is due; null if none is due."""
    header_names: List[str]
    """The names of its additional header fields. Their values are never shown."""
    inbox_id: str | None
    """The inbox whose webhookUrl this is; null for any other webhook."""
    created_at: str
    """When the webhook was created."""


class WebhookWithSecret(Webhook):
    """A webhook with its new secret."""

    secret: str
    """The signing secret: whsec_ and the base64 of 32 bytes. It is shown only in this response."""


class WebhookDelivery(Resource):
    """The delivery of one event to one webhook."""

    id: str
    """The id."""
    event_id: str
    """The event_id of the delivered event."""
    event_type: EventType
    """The event type."""
    status: Literal["pending", "succeeded", "failed"]
    """Pending until it succeeds or its last attempt fails."""
    attempts: int
    """Number of attempts."""
    last_attempt_at: str | None
    """When the last completed attempt began; null before the first."""
    next_attempt_at: str | None
    """When the next attempt is due; null if none."""
    response_status: int | None
    """HTTP status of the last response, even if it was incomplete; null without a response."""
    response_body: str | None
    """The first 4 KiB of the last response."""
    latency_ms: int | None
    """How long the last attempt took, in milliseconds."""
    error: Literal["status", "redirect", "timeout", "forbidden_address", "dns_failed",
        "connection_failed", "tls_failed", "protocol_error", "internal_error", "webhook_disabled",
        None]
    """Why the last attempt failed; null if it succeeded."""


class WebhookTest(Resource):
    """The result of a test."""

    ok: bool
    """Always true: a failed test responds with webhook_failed."""
    message: str
    """A sentence that describes the response of the receiver."""
    delivery: WebhookDelivery
    """The delivery of one event to one webhook."""

    _nested = {"delivery": WebhookDelivery}


class WebhookAttempt(Resource):
    """One attempt of a delivery, with its request and response."""

    number: int
    """The number of the attempt; the first is 1."""
    attempted_at: str
    """When the attempt began."""
    request_url: str | None
    """The URL that the event was posted to; null if nothing was posted."""
    request_headers: Dict[str, str] | None
    """The header fields of the request without its signatures and without the values of headers;
    null if nothing was posted.
    """
    response_status: int | None
    """HTTP status of the response, even if it was incomplete; null without a response."""
    response_body: str | None
    """The first 4 KiB of the response."""
    latency_ms: int | None
    """How long the attempt took, in milliseconds."""
    error: Literal["status", "redirect", "timeout", "forbidden_address", "dns_failed",
        "connection_failed", "tls_failed", "protocol_error", "internal_error", "webhook_disabled",
        None]
    """Why the attempt failed; null if it succeeded."""


class WholeWebhookDelivery(WebhookDelivery):
    """The delivery of one event to one webhook, with its attempts."""

    request_body: str | None
    """The first 64 KiB of the body, as it would be sent now, because it is not stored. Null if the
    event or its message was deleted.
    """
    history: List[WebhookAttempt]
    """The attempts with an outcome, newest first; the newest 20 are kept."""

    _nested = {"history": WebhookAttempt}


class InboxesRotateWebhookSecretAnswer(Resource):
    """The new secret of the webhook of an inbox."""

    webhook_secret: str
    """The new secret. It is shown only in this response."""


class InboxesTestWebhookAnswer(Resource):
    """The result of a test."""

    ok: bool
    """Always true: a failed test responds with webhook_failed."""
    message: str
    """A sentence that describes the response of the receiver."""


class CapturedMessage(Resource):
    """Mail that the sandbox captured instead of sending it."""

    id: str
    """The id."""
    message_id: str
    """The id of the message in its inbox."""
    thread_id: str
    """The thread of the message."""
    inbox_id: str
    """The inbox that sent the message."""
    from_: str
    """The sender, "Name <address>" or the bare address."""
    to: List[str]
    """The envelope recipients."""
    reverse_path: str
    """The envelope sender: the address that receives delivery reports for these recipients."""
    cc: List[str]
    """Copied recipients, with their names."""
    reply_to: str | None
    """The address to which the sender wants replies."""
    subject: str
    """The subject."""
    text: str
    """The text body."""
    html: str
    """The HTML body; empty when the message has none."""
    is_truncated: bool
    """Whether text or html was truncated at 256 KiB; GET /v1/messages/{id} with messageId returns
    them in full.
    """
    rfc_message_id: str | None
    """The Message-ID with its angle brackets."""
    in_reply_to: str | None
    """The Message-ID of the message to which this one replies."""
    references: List[str]
    """The Message-IDs of the References field, with their angle brackets."""
    attachments: List[Attachment]
    """The files in the message."""
    created_at: str
    """When the mail was captured."""

    _nested = {"attachments": Attachment}


class ReceivedMail(Resource):
    """The messages that the inboxes received."""

    data: List[Message]
    """The messages, in the order of the recipients."""
    total: int
    """Number of messages."""

    _nested = {"data": Message}


class ApiKey(Resource):
    """An API key. Every key has full access to all pods of the account."""

    id: str
    """The id."""
    name: str | None
    """A display name chosen by the client."""
    token_prefix: str
    """The first 7 characters of the token, to recognise it by."""
    last4: str
    """The last 4 characters of the token, to recognise it by."""
    created_at: str
    """When the key was created."""
    last_used_at: str | None
    """When the key was last used; null if never."""


class NewApiKey(ApiKey):
    """A new API key with its token."""

    token: str
    """The secret token. It is shown only in this response."""


class Connection(Resource):
    """An assistant that may use the MCP endpoint."""

    id: str
    """The id."""
    client_name: str
    """The name that the client gave itself; it is not verified."""
    client_id: str
    """The id of the OAuth client: for a client with a metadata document, its URL."""
    key_id: str
    """The API key with which a person approved it. Revoking the key ends the connection."""
    inbox_ids: List[str] | None
    """The inboxes that it may use; null for all inboxes, including new ones."""
    scopes: List[Literal["mail:read", "mail:draft", "mail:send", "mail:organise"]]
    """What it may do."""
    created_at: str
    """When a person approved it."""
    last_used_at: str | None
    """When it last called the MCP endpoint, to the minute; null if it signed in but has never
    called.
    """
    expires_at: str | None
    """When it ends; null if it lasts until it is revoked. An unused connection ends after 60 days.
    """


class ConnectionStep(Resource):
    """A step of the sign-in of an assistant."""

    id: str
    """The id."""
    step: Literal["discovery", "registration", "authorization", "token", "call"]
    """The step: a client reads the metadata (discovery), registers itself (registration), a person
    decides (authorization), the client fetches or refreshes its tokens (token) and first calls
    the MCP endpoint (call).
    """
    is_ok: bool
    """Whether the step succeeded."""
    error: str | None
    """The error code of OAuth with which it failed, such as invalid_grant; null if it succeeded."""
    detail: str | None
    """What failed, in a sentence; null if the step succeeded."""
    client_id: str | None
    """The OAuth client; null in steps that belong to no account yet, which every account sees."""
    client_name: str | None
    """The name that the client gave itself; it is not verified."""
    connection_id: str | None
    """The connection, once a person has approved it."""
    user_agent: str | None
    """The program that made the request, as it named itself; null for steps in a browser."""
    occurred_at: str
    """When it happened."""


class ConnectionClient(Resource):
    """An OAuth client that a person created for an assistant."""

    id: str
    """The client id to enter in the assistant. It has no secret."""
    name: str
    """The name that the consent page shows."""
    redirect_uris: List[str]
    """Where sign-ins may return to."""
    created_at: str
    """When the client was created."""


class Approver(Resource):
    """A person who decides about held mail."""

    id: str
    """The id."""
    name: str
    """The display name."""
    email: str | None
    """The address that is notified of held mail; null for none."""
    webhook_url: str | None
    """The URL that receives events of reviews; null for none. Always null for API keys."""
    webhook_disabled_at: str | None
    """When the webhook was disabled after failing for five days; null if it is enabled."""
    created_at: str
    """When the approver was created."""


class NewApprover(Approver):
    """A new approver with its token and, if it has a webhook, the signing secret."""

    token: str
    """The secret token. It is shown only in this response."""
    webhook_secret: str | None
    """The signing secret of webhookUrl. It is shown only in this response."""


class ReviewEqual(Resource):
    id: str
    """The id of the review."""
    digest: str
    """The digest of the review."""
    message_id: str
    """The message of the review."""


class Review(Resource):
    """A message that is held until an approver decides."""

    id: str
    """The id."""
    status: Literal["pending", "approved", "rejected", "expired"]
    """A message is sent only once its review is approved."""
    inbox_id: str
    """The inbox that is to send the message."""
    thread_id: str
    """The thread of the message."""
    message_id: str
    """The held message."""
    from_: str
    """The sender."""
    to: List[str]
    """The recipients."""
    cc: List[str]
    """Copied recipients."""
    bcc: List[str]
    """Hidden recipients."""
    subject: str
    """The subject of the message."""
    reasons: List[HoldReason]
    """Why the message is held."""
    digest: str
    """SHA-256 of the content to be sent, in hexadecimal, prefixed with "v2:". An approval must
    contain it.
    """
    equal_count: int
    """Number of equal pending reviews, including this one: their messages differ only in their
    threads. Always 1 for a decided review.
    """
    equal: List[ReviewEqual]
    """The other equal reviews, newest first, up to 100."""
    is_message_deleted: bool
    """Whether the message has since been removed. Approvers can read the review, without files, for
    90 days after its decision.
    """
    created_at: str
    """When the message was held."""
    expires_at: str
    """When the message is rejected without a decision."""
    decided_at: str | None
    """When the review was decided; null while pending."""
    decided_by: str | None
    """The id of the approver who decided; null for none."""
    decided_reason: str | None
    """The comment of the approver, cancelled if the sender cancelled it, or message_deleted."""

    _nested = {"reasons": HoldReason, "equal": ReviewEqual}


class WholeReviewEqual(Resource):
    id: str
    """The id of the review."""
    digest: str
    """The digest of the review."""
    message_id: str
    """The message of the review."""


class ReviewContentAttachments(Resource):
    filename: str
    """The name of the file."""
    content_type: str
    """The media type of the file, with its parameters."""
    sha256: str
    """SHA-256 in hexadecimal of the content."""
    content_id: str | None
    """The identifier with which the HTML refers to the file as "cid:", if any."""


class ReviewContent(Resource):
    """The exact content to be sent. The digest is the SHA-256 of this object in canonical JSON (RFC
    8785), prefixed with "v2:".
    """

    inbox_id: str
    """The inbox that sends the message."""
    from_: str
    """The sender."""
    to: List[str]
    """The recipients, with their names."""
    cc: List[str]
    """Copied recipients, like to."""
    bcc: List[str]
    """Hidden recipients."""
    reply_to: str | None
    """The Reply-To address, with its name; null if replies go to the sender."""
    subject: str
    """The subject."""
    body_text: str
    """The text including the quote."""
    body_html: str
    """The HTML including the quote; empty for none."""
    thread_id: str
    """The thread."""
    in_reply_to: str | None
    """The Message-ID of the original message."""
    headers: Dict[str, str]
    """Additional header fields by name."""
    attachments: List[ReviewContentAttachments]
    """The attached files in order."""
    send_at: str | None
    """The message is not sent before this time; null if it is not scheduled."""
    unsubscribe: bool
    """Whether the message has an unsubscribe link."""
    is_automatic: bool
    """Whether the message is marked as sent by a program."""

    _nested = {"attachments": ReviewContentAttachments}


class ReviewDisplay(Resource):
    """Content that a person who looks at the rendered message may miss. Not part of the digest."""

    is_whole: bool
    """Whether the page shows all text of bodyHtml that a mail program may show. If false, read
    bodyHtml itself: the page shows part of it, or bodyText instead.
    """
    is_html_whole: bool
    """The former name of isWhole."""
    blocked_images: int
    """Remote images that the page omits."""
    blocked_styles: int
    """Remote style sheets and fonts that the page omits. Some mail programs load them."""
    hidden: str | None
    """Hidden content of bodyHtml by number and reason; null for none, or if it is unknown because
    no page can show bodyHtml.
    """
    invisible: int
    """Invisible characters, such as fillers, tags, variation selectors and bidirectional controls,
    in all fields, names and files of the message. Joiners and selectors that form letters and
    emoji are not counted.
    """
    unshown: int
    """Characters of bodyHtml that no page shows: comments, titles, attributes such as data-x, and
    the content of elements such as template. 0 if no page can show bodyHtml.
    """


class ReviewVersion(Resource):
    """A version of a held message that an edit has replaced."""

    content: ReviewContent
    """The exact content to be sent. The digest is the SHA-256 of this object in canonical JSON (RFC
    8785), prefixed with "v2:".
    """
    digest: str
    """The digest of this version."""
    changed: List[Literal["to", "cc", "bcc", "subject", "body", "bodyHtml", "attachments"]]
    """The fields that the edit of this version changed."""
    edited_by: str
    """The id of the approver who edited this version."""
    edited_at: str
    """When this version was replaced."""

    _nested = {"content": ReviewContent}


class ReviewCommentAuthor(Resource):
    """Who wrote the comment."""

    kind: Literal["key", "approver"]
    """Whether an API key or an approver wrote the comment."""
    id: str
    """The id of the key or the approver."""
    name: str | None
    """The name at that time; null for a key without a name."""


class ReviewComment(Resource):
    """A comment on a review."""

    id: str
    """The id."""
    author: ReviewCommentAuthor
    """Who wrote the comment."""
    text: str
    """The comment, as plain text."""
    created_at: str
    """When the comment was written."""

    _nested = {"author": ReviewCommentAuthor}


class WholeReview(Review):
    """A review with the complete message and the newest messages of its thread, including the held
    one.
    """

    content: ReviewContent
    """The exact content to be sent. The digest is the SHA-256 of this object in canonical JSON (RFC
    8785), prefixed with "v2:".
    """
    display: ReviewDisplay
    """Content that a person who looks at the rendered message may miss. Not part of the digest."""
    thread: ThreadMessages
    """The messages of a thread."""
    versions: List[ReviewVersion]
    """The former versions of an edited message, oldest first, with up to 262,144 characters of each
    body.
    """
    comments: List[ReviewComment]
    """The comments, oldest first."""

    _nested = {"reasons": HoldReason, "equal": WholeReviewEqual, "content": ReviewContent,
        "display": ReviewDisplay, "thread": ThreadMessages, "versions": ReviewVersion,
        "comments": ReviewComment}


class ReviewsApproveManyAnswerData(Resource):
    id: str
    """The id of the review."""
    status: int
    """The HTTP status, as if approved alone."""
    review: Review | None
    """The approved review; null if it was refused."""
    error: Error | None
    """The error that a single approval would return; null if the approval succeeded."""

    _nested = {"review": Review, "error": Error}


class ReviewsApproveManyAnswer(Resource):
    """The results of several approvals."""

    data: List[ReviewsApproveManyAnswerData]
    """One result per item, in the same order."""

    _nested = {"data": ReviewsApproveManyAnswerData}


class ReviewsApproveManyItems(TypedDict):
    id: str
    """The id of a review."""
    digest: str
    """The digest of the review as read."""


class SessionAccount(Resource):
    """The account of the session."""

    id: str
    """The id."""
    name: str
    """The display name."""
    plan: Literal["free", "developer", "launch"]
    """The plan decides how many inboxes the account may have."""


class SessionKey(Resource):
    id: str
    """The id."""
    name: str | None
    """A display name chosen by the client."""
    token_prefix: str
    """The first 7 characters of the token, to recognise it by."""
    last4: str
    """The last 4 characters of the token, to recognise it by."""


class SessionApprover(Resource):
    id: str
    """The id."""
    name: str
    """The display name."""


class Session(Resource):
    """A session of the console."""

    account: SessionAccount
    """The account of the session."""
    key: SessionKey | None
    """The key used to sign in; null for an approver. Revoking it ends the session."""
    approver: SessionApprover | None
    """The approver who signed in; null for an API key. Deleting the approver ends the session."""
    csrf_token: str
    """The value for the header X-CSRF-Token, which every request except GET needs."""
    expires_at: str
    """When the session ends."""
    public_url: str
    """The URL of the service, without a slash at the end, as other programs reach it."""
    is_sandbox: bool
    """Whether the sandbox captures mail instead of sending it."""
    inbox_domain: str
    """The domain of an inbox that is created without a domain."""
    version: str
    """The version of the service."""

    _nested = {"account": SessionAccount, "key": SessionKey, "approver": SessionApprover}


class StartedPairing(Resource):
    """A pairing that awaits a decision."""

    request_id: str
    """The secret that this client polls with."""
    user_code: str
    """The code that the client shows, for comparison by the person who approves it."""
    verify_url: str
    """The console page where a signed-in person decides."""
    expires_in_seconds: int
    """Seconds until the pairing expires."""


class PairingPollAnswer(Resource):
    """The key of a pairing."""

    status: Literal["ready"]
    """The pairing was approved."""
    api_key: str
    """A new API key of the account that approved the pairing. It is returned only once."""


class PairingPollAnswer2(Resource):
    """A pairing that awaits a decision."""

    status: Literal["pending"]
    """The pairing awaits a decision."""


class PairingPollByUrlAnswer(Resource):
    """The key of a pairing."""

    status: Literal["ready"]
    """The pairing was approved."""
    api_key: str
    """A new API key of the account that approved the pairing. It is returned only once."""


class PairingPollByUrlAnswer2(Resource):
    """A pairing that awaits a decision."""

    status: Literal["pending"]
    """The pairing awaits a decision."""


class Pairing(Resource):
    """A client that asks to be paired with an account."""

    user_code: str
    """The code that the client shows."""
    client_name: str | None
    """The name that the client gave itself; it is not verified."""
    client_address: str
    """The IP address of the client that started the pairing."""
    created_at: str
    """When the pairing was started."""
    expires_at: str
    """When the pairing expires."""


class StatsBuckets(Resource):
    """An interval."""

    at: str
    """When the interval begins."""
    received: int
    """Messages that arrived."""
    sent: int
    """Messages accepted by the servers of all recipients."""
    failed: int
    """Messages that failed for at least one recipient, including later bounces."""
    latency_ms_p50: int | None
    """Median time from release to delivery, within ten percent; null without sent messages. A
    message is released when it is accepted, due or approved, whichever is last.
    """
    latency_ms_p95: int | None
    """The 95th percentile of the time from release to delivery."""


class StatsTotals(Resource):
    """The totals of all intervals."""

    received: int
    """Messages that arrived."""
    sent: int
    """Messages accepted by the servers of all recipients."""
    failed: int
    """Messages that failed for at least one recipient, including later bounces."""


class Stats(Resource):
    """Statistics of the account’s mail."""

    range: Literal["24h", "7d", "30d"]
    """The range of the statistics."""
    bucket_seconds: int
    """The length of each interval."""
    buckets: List[StatsBuckets]
    """The intervals, oldest first; the last one has not ended."""
    totals: StatsTotals
    """The totals of all intervals."""
    inboxes: int
    """Current number of inboxes of the account."""
    unread_threads: int
    """Current number of unread threads in all inboxes."""
    stored_bytes: int
    """Bytes currently stored by the account: mail, including quarantined mail, drafts, the text of
    attachments, and files of exports and imports.
    """
    stored_bytes_limit: int | None
    """The storage quota in bytes; null without a quota. Once the quota is reached, mail to the
    account is refused.
    """
    as_of: str
    """The time up to which all mail is counted."""

    _nested = {"buckets": StatsBuckets, "totals": StatsTotals}


class UsageData(Resource):
    """The usage of an inbox or of the account."""

    inbox_id: str | None
    """The inbox; null for the whole account."""
    address: str | None
    """The address of the inbox; null for the whole account."""
    received: int
    """Messages that arrived."""
    sent: int
    """Messages accepted by the servers of all recipients."""
    failed: int
    """Messages that failed for at least one recipient, including later bounces."""
    stored_bytes: int
    """Bytes stored now: mail, including quarantined mail, drafts and the text of attachments; for
    the account, also files of exports and imports.
    """


class UsageTotals(Resource):
    """The totals of all entries."""

    received: int
    """Messages that arrived."""
    sent: int
    """Messages accepted by the servers of all recipients."""
    failed: int
    """Messages that failed for at least one recipient, including later bounces."""


class Usage(Resource):
    """Usage of an account over a number of days."""

    from_: str
    """When the first day begins."""
    to: str
    """When the last day ends."""
    group_by: Literal["account", "inbox"]
    """The scope of each entry."""
    data: List[UsageData]
    """The entries on this page, those with the most messages first."""
    total: int
    """Number of entries over all pages."""
    totals: UsageTotals
    """The totals of all entries."""
    as_of: str
    """The time up to which all mail is counted."""

    _nested = {"data": UsageData, "totals": UsageTotals}


class Account(Resource):
    """A tenant of the service: keys, pods, inboxes and mail belong to one account."""

    id: str
    """The id."""
    name: str
    """The display name."""
    plan: Literal["free", "developer", "launch"]
    """The plan decides how many inboxes the account may have."""
    created_at: str
    """When the account was created."""


class NewAccount(Resource):
    """A new account with its first key; the token is shown only here."""

    account: Account
    """A tenant of the service: keys, pods, inboxes and mail belong to one account."""
    api_key: NewApiKey
    """A new API key with its token."""

    _nested = {"account": Account, "apiKey": NewApiKey}


class ServiceHealthAnswer(Resource):
    status: Literal["ok"]


class ServiceReadyAnswer(Resource):
    status: Literal["ready"]
