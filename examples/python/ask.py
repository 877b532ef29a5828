"""Asks a troupe for something and waits for its end:

    TOKEN=$(troupe token --sub ann) python3 ask.py http://127.0.0.1:18789 ACTION PAYLOAD
"""
import json
import os
import sys

from troupe_sdk import TroupeClient, TroupeRefusal


def main(url, action, payload):
    client = TroupeClient(url, os.environ["TOKEN"], tenant="default", sub="ann")
    try:
        task = client.call(action, json.loads(payload))
    except TroupeRefusal as refusal:
        sys.exit("refused: %s" % refusal)
    if task.error is not None:
        sys.exit("%s: %s" % (task.state.value, task.error.message))
    print(json.dumps(task.result))


if __name__ == "__main__":
    main(*sys.argv[1:])
