"""An agent in Python: it registers `greeter.say_hello` with troupe and executes it.

    TOKEN=$(troupe token --sub greeter --roles agent) python3 greeter.py http://127.0.0.1:18789

Its entry point is the minimum of troupe's own protocol: `POST /v1/envelopes` responds with an ended
task. A repeated idempotency key receives the same response, because troupe repeats a request with an
unknown outcome. This example stores its responses in memory; a real agent stores them on disk.
"""
import json
import os
import sys
import threading
import time
import uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from troupe_sdk import TroupeClient, TroupeRefusal
from troupe_sdk.actions import Actions

HEARTBEAT_SEC = 300
BYTES_MAX = 1_048_576

SAY_HELLO = {
    "action": "greeter.say_hello",
    "action_version": "1.0.0",
    "description": "Says hello to somebody.",
    "transports": ["http"],
    "max_payload_bytes": 4096,
    "eta_sec": 10,
    "schemas": {
        "1.0": {
            "type": "object",
            "required": ["schema_version", "name"],
            "properties": {
                "schema_version": {"const": "1.0"},
                "name": {"type": "string", "minLength": 1},
            },
            "additionalProperties": False,
        }
    },
    "roles": [],
    "compensable": False,
    "sensitive": False,
}


def say_hello(payload):
    return {"text": "Hello, %s!" % payload["name"]}


WORK = {SAY_HELLO["action"]: say_hello}


class EntryPoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    done = {}
    lock = threading.Lock()

    def do_POST(self):
        size = int(self.headers.get("content-length", 0))
        if self.path != "/v1/envelopes" or size > BYTES_MAX:
            self.close_connection = True
            return self.answer(404, refusal("NOT_FOUND", "envelopes go to /v1/envelopes"))
        envelope = json.loads(self.rfile.read(size))
        work = WORK.get(envelope["action"])
        if work is None:
            return self.answer(404, refusal("NOT_FOUND", "greeters only say hello"))
        key = (envelope["tenant_id"], envelope["action"], envelope["idempotency_key"])
        with self.lock:
            if key not in self.done:
                self.done[key] = task_of(envelope, work(envelope["payload"]))
        return self.answer(200, self.done[key])

    def answer(self, status, body):
        data = json.dumps(body).encode("utf-8")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def task_of(envelope, result):
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    same = ("tenant_id", "action", "action_version", "request_id", "correlation_id", "trace_id")
    return {
        **{name: envelope[name] for name in same},
        "task_id": str(uuid.uuid4()),
        "state": "SUCCEEDED",
        "subject": envelope["payload"].get("subject", ""),
        "principal": envelope["principal"]["sub"],
        "accepted_at": now,
        "finished_at": now,
        "eta_sec": SAY_HELLO["eta_sec"],
        "attempt": 1,
        "result": result,
        "events": [],
    }


def refusal(code, message):
    return {"error": {"code": code, "message": message}}


def main(troupe_url):
    server = ThreadingHTTPServer(("127.0.0.1", 0), EntryPoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = TroupeClient(
        troupe_url, os.environ["TOKEN"], tenant="default", sub="greeter", roles=("agent",)
    )
    registry = Actions(client).registry
    url = "http://127.0.0.1:%d" % server.server_port
    me = {"agent_id": "greeter", "version": "1.0.0", "url": url, "actions": [SAY_HELLO]}
    task = registry.register_agent(me)
    if task.error is not None:
        sys.exit("not registered: %s" % task.error.message)
    print("registered: %s" % json.dumps(task.result), flush=True)
    while True:
        time.sleep(HEARTBEAT_SEC)
        try:
            beat = registry.send_heartbeat({"agent_id": "greeter"})
            if beat.error is not None and beat.error.code == "NOT_FOUND":
                registry.register_agent(me)
        except TroupeRefusal as refusal:
            print("no heartbeat: %s" % refusal, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
