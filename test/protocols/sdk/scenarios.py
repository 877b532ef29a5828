"""What a Python program does with the SDK: `scenarios.py NAME` prints what came of it as JSON."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import uuid

from troupe_sdk import TroupeClient, TroupeRefusal, canonical, is_final, waits_for_input
from troupe_sdk.actions import Actions
from troupe_sdk.types import ConformanceEchoPayload, VerifierVerifyDocument


def client_of(**options):
    sub = os.environ["SUB"]
    given = {"url": os.environ["URL"], "token": os.environ["TOKEN"], "pause_sec_max": 0.2}
    return TroupeClient(**{**given, "tenant": "conformance", "sub": sub, "roles": ("writer",), **options})


def refusal_of(ask):
    try:
        ask()
    except TroupeRefusal as refusal:
        return {"code": refusal.code, "status": refusal.status, "details": refusal.details}
    raise AssertionError("it was not refused")


def view_of(task):
    return {"state": task.state, "result": task.result}


def typed():
    client = client_of()
    by_class = Actions(client).conformance.echo_payload(ConformanceEchoPayload(text="hello"))
    by_mapping = Actions(client).conformance.echo_payload({"text": "again", "more": [1.5, None]})
    return [view_of(by_class), view_of(by_mapping)]


def nothing_there():
    """A field that must be there, and is null."""
    job = str(uuid.uuid4())
    payload = VerifierVerifyDocument(document_id="none", job_id=job, version=0, content_hash=None)
    return Actions(client_of()).verifier.verify_document(payload).result["verified"]


def followed():
    client = client_of()
    begun = client.submit("conformance.run_slowly", {"seconds": 2.5})
    events = [[event.n, event.event] for event in client.events(begun.task_id)]
    ended = client.finished(begun)
    return {"begun": is_final(begun), "events": events, "ended": ended.state}


def cancelled():
    client = client_of()
    begun = client.submit("conformance.run_slowly", {"seconds": 30})
    client.cancel(begun.task_id, "enough")
    ended = client.finished(begun)
    again = client.cancel(begun.task_id)
    undone = Actions(client).conformance.check_undone({"task_id": begun.task_id})
    return [ended.state, ended.outcome, again.state, undone.result]


def asked():
    client = client_of()
    asking = client.call("conformance.need_input", {})
    ended = client.finished(client.input(asking.task_id, {"name": "Ada"}))
    late = refusal_of(lambda: client.input(asking.task_id, {"name": "Bob"}))
    return [waits_for_input(asking), asking.waiting.prompt, view_of(ended), late["code"]]


def large():
    client = client_of()
    contents = b"x" * 100_000
    ask = lambda: client.call("conformance.large_payload", {"text": contents.decode()})
    refused = refusal_of(ask)
    file = client.upload(contents, "text/plain")
    task = client.call("conformance.large_payload", file)
    job = client.call("conformance.verify_job", {"job_id": f"conformance-{task.task_id}"})
    [record] = client.evidence(f"conformance-{task.task_id}")
    return [refused["code"], view_of(task), job.state, record.verified]


def refused():
    client = client_of()
    return [
        refusal_of(lambda: client.call("conformance.echo_payload", {"text": 5})),
        refusal_of(lambda: client.call("unknown.does_this", {})),
        refusal_of(lambda: client.task(str(uuid.uuid4()))),
        refusal_of(lambda: client_of(sub="bob").call("conformance.count_call", {})),
        refusal_of(lambda: client_of(token=lambda: "nonsense").capabilities()),
    ]


def counted():
    return view_of(client_of().call("conformance.count_call", {}))


def given_up():
    return refusal_of(lambda: client_of(attempts_max=2).call("conformance.count_call", {}))


def hung():
    client = client_of(timeout_sec=0.2, attempts_max=1)
    return refusal_of(lambda: client.call("conformance.count_call", {}))


def patient():
    """Waits on; the other side goes away meanwhile and stays away."""
    client = client_of(patience_sec=0.05)
    begun = client.submit("conformance.run_slowly", {"seconds": 30})
    print(json.dumps(begun.task_id), flush=True)
    return refusal_of(lambda: client.finished(begun))


def slowly():
    """Keeps waiting while the server stops and starts again."""
    client = client_of(pause_sec_max=0.5)
    begun = client.submit("conformance.run_slowly", {"seconds": 3})
    print(json.dumps(begun.state), flush=True)
    ended = client.finished(begun)
    return {"state": ended.state, "seconds": ended.result["seconds"]}


def too_long():
    client = client_of()
    begun = client.submit("conformance.run_slowly", {"seconds": 30})
    try:
        client.finished(begun, wait_sec=0.3)
    except TimeoutError:
        return client.cancel(begun.task_id).task_id == begun.task_id
    raise AssertionError("it ended")


def behind():
    first, second = client_of(), client_of()
    ahead = first.envelope("conformance.count_call", {"subject": "s"})
    first.send({**ahead, "seq": ahead["seq"] + 1_000_000})
    return view_of(second.call("conformance.count_call", {"subject": "s"}))


def crowd():
    """Many threads, one client, one subject."""
    client = client_of()
    results = []

    def ask():
        results.append(client.call("conformance.count_call", {"subject": "crowd"}).result)

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def signed():
    def sign(data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", os.environ["KEY_FILE"]]
            return subprocess.run(command + ["-in", file.name], check=True, capture_output=True).stdout

    odd = {"text": 'ünï \U0001f600 "quoted" \\', "numbers": [1e21, 1e-7, -0.0, 2**60], "é": {"\ue000": 1, "\U0001f600": 2}}
    client = client_of(kid=os.environ["KID"], signer=sign)
    task = client.call("conformance.echo_payload", odd)
    begun = client.submit("conformance.run_slowly", {"seconds": 30})
    ended = client.finished(client.cancel(begun))
    unsigned = refusal_of(lambda: client_of().call("conformance.count_call", {}))
    return [task.state, ended.state, unsigned["code"]]


def canonical_lines():
    """Each line of stdin is JSON; each line of the answer its canonical form."""
    return [canonical(json.loads(line)) for line in sys.stdin]


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
