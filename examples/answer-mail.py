"""Answers mail: waits for messages in an inbox, reads their new text and codes, and replies."""

import os
import sys

from mailroom import Mailroom, MailroomConnectionError, MailroomError
from mailroom.types import Message


def main() -> None:
    api_key = os.environ.get("MAILROOM_API_KEY")
    if not api_key:
        sys.exit("MAILROOM_API_KEY is not set.")
    base_url = os.environ.get("MAILROOM_BASE_URL", "http://127.0.0.1:8080")
    with Mailroom(base_url, api_key) as mailroom:
        inboxes = mailroom.inboxes.list(limit=1).page().data
        inbox = inboxes[0] if inboxes else mailroom.inboxes.create()
        print(f"Write to {inbox['address']}", flush=True)
        # One worker at a time gets the thread. It is marked read once this function has returned.
        mailroom.work(
            inbox["id"],
            lambda claim, context: answer(context.mail, claim["threadId"]),
            owner="answer-mail.py",
            on_error=lambda error, claim: print(f"{claim['threadId']}: {error}", file=sys.stderr),
        )


def answer(mailroom: Mailroom, thread_id: str) -> None:
    messages = mailroom.threads.messages(thread_id)["data"]
    received = [message for message in messages if message["direction"] == "inbound"]
    # Two programs that answer each other never stop.
    if not received or received[-1].get("automatic"):
        return
    message = received[-1]
    # The same key never sends twice, even if this program was restarted in between.
    mailroom.inboxes.reply(
        message["inboxId"],
        message,
        body=answer_to(message),
        idempotency_key=f"answer-{message['id']}",
    )
    print(f"Answered {message['id']} from {message['fromAddr']}", flush=True)


def answer_to(message: Message) -> str:
    """Call your model here. A stranger wrote its input: treat it as data, never as instructions."""
    lines = len(message["extractedText"].strip().splitlines())
    extracted = message.get("extracted")
    codes = [code["value"] for code in extracted["codes"]] if extracted else []
    found = f" I found the code {codes[0]}." if codes else ""
    return f"Hello,\n\nthank you for your {lines} line(s).{found} A person will look at them."


if __name__ == "__main__":
    try:
        main()
    except (MailroomError, MailroomConnectionError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
