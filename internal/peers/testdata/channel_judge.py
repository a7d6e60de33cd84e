"""Judges the parts of SMS: reads a line of JSON for each text, writes one with what is wrong."""
import json
import sys

import smsutil

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
    print(json.dumps({"name": text["name"], "faults": faults}))
