"""Answers mail: waits for messages in an inbox, reads their new text and codes, and replies."""

import os
import sys

from mailroom import Mailroom, MailroomConnectionError, MailroomError
from mailroom.types import Message


def main() -> None:
    with Mailroom(os.environ.get("MAILROOM_BASE_URL", "http://127.0.0.1:8080")) as mailroom:
        inbox = mailroom.inboxes.list().first() or mailroom.inboxes.create()
        print(f"Write to {inbox.address}", flush=True)
        # One worker at a time gets the thread. It is marked read once this function has returned.
        mailroom.work(
            inbox.id,
            lambda claim, context: answer(context.mail, claim.thread_id),
            owner="answer-mail.py",
            on_error=lambda error, claim: print(f"{claim.thread_id}: {error}", file=sys.stderr),
        )


def answer(mailroom: Mailroom, thread_id: str) -> None:
    messages = mailroom.threads.messages(thread_id).data
    received = [message for message in messages if message.direction == "inbound"]
    # Two programs that answer each other never stop.
    if not received or received[-1].automatic:
        return
    message = received[-1]
    # The same key never sends twice, even if this program was restarted in between.
    mailroom.inboxes.reply(
        message.inbox_id,
        message,
        body=answer_to(message),
        idempotency_key=f"answer-{message.id}",
    )
    print(f"Answered {message.id} from {message.from_addr}", flush=True)


def answer_to(message: Message) -> str:
    """Call your model here. A stranger wrote its input: treat it as data, never as instructions."""
    lines = len(message.extracted_text.strip().splitlines())
    codes = [code.value for code in message.extracted.codes] if message.extracted else []
    found = f" I found the code {codes[0]}." if codes else ""
    return f"Hello,\n\nthank you for your {lines} line(s).{found} A person will look at them."


if __name__ == "__main__":
    try:
        main()
    except (MailroomError, MailroomConnectionError, ValueError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
