"""Judges SMS and e-mails: reads a line of JSON for each text, writes one with what is wrong."""
import base64
import email
import email.policy
import json
import sys

import smsutil



def read(mail):
    """Compares what Python reads out of a message with what it was made of."""
    message = email.message_from_bytes(base64.b64decode(mail["mime"]), policy=email.policy.default)
    faults = [f"defect: {d!r}" for part in message.walk() for d in part.defects]
    if message.get_content_type() != "multipart/alternative":
        faults.append(f"it is {message.get_content_type()}")
    if message["subject"] != mail["subject"]:
        faults.append(f"subject {message['subject']!r}, not {mail['subject']!r}")
    kinds = [part.get_content_type() for part in message.iter_parts()]
    if kinds != ["text/plain", "text/html"]:
        faults.append(f"parts {kinds}")
    for part, want in zip(message.iter_parts(), [mail["text"], mail["html"]]):
        got = part.get_content().replace("\r\n", "\n")
        if got.rstrip("\n") != want.rstrip("\n"):
            faults.append(f"{part.get_content_type()}: {got!r}, not {want!r}")
    return faults


for line in sys.stdin:
    text = json.loads(line)
    faults = []
    for part in text.get("sms") or []:
        split = smsutil.split(part["content"])
        encoding = "GSM-7" if smsutil.is_valid_gsm(part["content"]) else "UCS-2"
        if encoding != part["encoding"]:
            faults.append(f"encoding is {encoding}, not {part['encoding']}: {part['content']}")
        if len(split.parts) > text["most"]:
            faults.append(f"{len(split.parts)} segments: {part['content']}")
    if text.get("mail"):
        faults += read(text["mail"])
    print(json.dumps({"name": text["name"], "faults": faults}))
