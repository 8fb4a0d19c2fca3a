#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`muster agent` against an imitation of Kubernetes' API server, over TLS.

    agent_test.py MUSTER
"""
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time

muster = os.path.abspath(sys.argv[1])
folder = pathlib.Path(tempfile.mkdtemp())
failures = []
node = {"metadata": {"name": "gpu-0"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
events = []
refused = set()  # methods that the server answers with 403


def expect(fine, what):
    if not fine:
        failures.append(what)
        print(f"not ok: {what}", file=sys.stderr)


class Server(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def allowed(self, content):
        expect(self.headers["Content-Type"] == content, f"{self.path}: {self.headers['Content-Type']}")
        if self.headers["Authorization"] == f"Bearer {(folder / 'token').read_text()}" and self.command not in refused:
            return True
        self.answer(403, {"kind": "Status", "message": "that is forbidden"})
        return False

    def do_PATCH(self):  # noqa: N802, named by the library
        change = self.body()
        if not self.allowed("application/strategic-merge-patch+json"):
            return
        expect(self.path == "/api/v1/nodes/gpu-0/status", self.path)
        for each in change.get("status", {}).get("conditions", []):
            merged = [old for old in node["status"]["conditions"] if old["type"] != each["type"]]
            node["status"]["conditions"] = [*merged, each]
        self.answer(200, node)

    def do_POST(self):  # noqa: N802
        event = self.body()
        if not self.allowed("application/json"):
            return
        expect(self.path == "/api/v1/namespaces/default/events", self.path)
        events.append((event["type"], event["reason"]))
        self.answer(201, event)

    def log_message(self, *words):
        pass


def certificate(name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"],
                   check=True, capture_output=True)


def start_server():
    certificate("ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "ca.key")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def start_agent(host="127.0.0.1"):
    """Its environment is the one that a pod has."""
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port), "NODE_NAME": "gpu-0"}
    with open(folder / "log", "w", encoding="utf-8") as log:
        return subprocess.Popen(
            [muster, "agent", f"--service-account={folder.name}", "--interval=300ms", f"--metrics={folder}/muster.prom",
             f"--check=--profile={folder}/site.yaml", "--check=--only=host.programs,host.memory",
             f"--check=--state={folder}/state"],
            env=variables, stderr=log, cwd=folder.parent)


def profile(text):
    (folder / "new.yaml").write_text(f"schema: muster.profile/1\nname: site\nextends: generic\n{text}\n")
    os.replace(folder / "new.yaml", folder / "site.yaml")


def condition(kind):
    return next((each for each in node["status"]["conditions"] if each["type"] == kind), {})


def verdict():
    return condition("MusterUnfit").get("status"), condition("MusterUndecided").get("status")


def await_that(fine, what):
    deadline = time.monotonic() + 60
    while not fine():
        if time.monotonic() > deadline:
            return expect(False, f"{what}: {verdict()}, {(folder / 'log').read_text()}")
        time.sleep(0.05)
    return None


def metric():
    file = folder / "muster.prom"
    found = re.search(r"^muster_verdict{.*} (\d)$", file.read_text(), re.M) if file.exists() else None
    return found and found[1]


def restart(agent, host="127.0.0.1"):
    agent.kill()
    agent.wait()
    return start_agent(host)


fit, unfit = "host: {programs: {executable: [/bin/sh]}}", "host: {memory: {total: 900 TiB}}"
(folder / "token").write_text("a-token")
port = start_server()
profile(fit)
agent = start_agent()
await_that(lambda: verdict() == ("False", "False") and metric() == "0", "a healthy node")
expect("muster_node_info{" in (folder / "muster.prom").read_text(), "the metrics have readings of the node")
expect(condition("Ready") == {"type": "Ready", "status": "True"}, "the conditions of others stay")
await_that(lambda: events == [("Normal", "NoFinding")] * 2, f"an event for each condition: {events}")

node["status"]["conditions"][-1]["lastTransitionTime"] = "2026-01-01T00:00:00Z"
agent = restart(agent)
profile(unfit)
await_that(lambda: verdict() == ("True", "False") and metric() == "3", "an unfit node")
expect("host.memory" in condition("MusterUnfit")["message"], "the message names the check")
expect(condition("MusterUndecided")["lastTransitionTime"] == "2026-01-01T00:00:00Z",
       "a new agent keeps the time of a condition that did not change")
await_that(lambda: events[2:] == [("Warning", "MusterUnfit")], f"one event for the one change: {events}")

refused.add("POST")
profile("host: {memory: {nonsense: 1}}")
await_that(lambda: verdict() == ("Unknown", "True") and metric() == "2", "a node that cannot be judged")
expect("nonsense" in condition("MusterUndecided")["message"], "the message says why")
await_that(lambda: "POST /api/v1/namespaces/default/events: status 403" in (folder / "log").read_text(),
           "a refused event is logged")
expect("MusterUndecided is True" in (folder / "log").read_text(), "so is the change")
refused.clear()
await_that(lambda: events[3:] == [("Normal", "MusterUndecided"), ("Warning", "MusterUndecided")],
           f"refused events are sent again: {events}")
expect('node="gpu-0"' in (folder / "muster.prom").read_text(), "the metrics name the node")

refused.add("PATCH")
profile(fit)
await_that(lambda: "status 403: that is forbidden" in (folder / "log").read_text(), "a refusal is logged")
refused.clear()
(folder / "token").write_text("a-new-token")
await_that(lambda: verdict() == ("False", "False"), "the agent tries again, with the token of the time")

node["status"]["conditions"] = []
for host in ("localhost", "127.0.0.1"):
    if host == "127.0.0.1":
        certificate("other")
        os.replace(folder / "other.crt", folder / "ca.crt")
    agent = restart(agent, host)
    await_that(lambda: "certificate verify failed" in (folder / "log").read_text(), f"a false server is refused: {host}")
expect(verdict() == (None, None), "nothing is sent to a false server")
agent.kill()
agent.wait()

usage = subprocess.run([muster, "agent"], env={}, capture_output=True, text=True)
expect(usage.returncode == 64 and "NODE_NAME" in usage.stderr, f"outside of a pod: {usage.stderr}")
pod = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
for words, changes, why in ((["--check=--help"], {}, "--help"), (["--check=--output=F"], {}, "--output"),
                            (["--check=--nosuch"], {}, "--nosuch"), (["--check=foo"], {}, "foo"),
                            (["--node=../x"], {}, "invalid node name"),
                            ([], {"KUBERNETES_SERVICE_PORT": "abc"}, "invalid port")):
    usage = subprocess.run([muster, "agent", "--node=n1", *words], env={**pod, **changes}, capture_output=True,
                           text=True, timeout=60)
    expect(usage.returncode == 64 and why in usage.stderr, f"{words}: {usage.returncode}, {usage.stderr}")
subprocess.run(["rm", "-rf", folder], check=True)
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
