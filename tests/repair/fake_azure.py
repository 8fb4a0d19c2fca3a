#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Azure's Guest Health Reporting and the metadata service of a virtual machine, for tests.

    fake_azure.py FOLDER

FOLDER has cert.pem and key.pem, and `mode`, a list of answers: one line is taken for each claim, the
last one stays. Writes `ports`, and a line to `log` for each request or complaint.
"""

import http.server
import json
import pathlib
import re
import ssl
import sys
import threading
import time

FOLDER = pathlib.Path(sys.argv[1])
TOKEN = "hush-hush-token"
MODES = ("201", "400", "401", "429", "429-long", "500", "cut", "slow")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
PATH = re.compile(
    r"/subscriptions/sub-1/providers/Microsoft\.Impact/workloadImpacts/[0-9a-f-]{36}"
    r"(/insights)?\?api-version=[-0-9a-z]+"
)


def log(text):
    with open(FOLDER / "log", "a", encoding="utf-8") as file:
        file.write(text + "\n")


def next_mode():
    modes = (FOLDER / "mode").read_text().split()
    if len(modes) > 1:
        (FOLDER / "mode").write_text("\n".join(modes[1:]))
    if modes[0] not in MODES:
        log(f"complaint: unknown mode {modes[0]}")
    return modes[0]


def faults_of(body):
    """What is wrong with the body of a claim."""
    try:
        properties = json.loads(body)["properties"]
    except (ValueError, KeyError) as error:
        return [f"not a claim: {error}"]
    needed = {"startDateTime", "reportedTimeUtc", "impactCategory", "impactDescription"}
    needed |= {"impactedResourceId", "additionalProperties"}
    faults = [f"{key} is missing" for key in needed - set(properties)]
    faults += [f"{key} is unknown" for key in set(properties) - needed]
    for key in ("startDateTime", "reportedTimeUtc"):
        if not TIME.fullmatch(properties.get(key, "")):
            faults.append(f"{key} is not a time")
    if not properties.get("impactCategory", "").startswith("Resource.Hpc.Unhealthy."):
        faults.append("impactCategory")
    more = properties.get("additionalProperties", {})
    if not more.get("PhysicalHostName") or not all(isinstance(each, str) for each in more.values()):
        faults.append("additionalProperties")
    return faults


def check_arguments():
    """No process may have the token in its arguments or its environment."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name = (process / "comm").read_text().strip()
            texts = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if name in ("curl", "muster") and TOKEN.encode() in texts:
            log(f"complaint: {name} shows the token")


class Azure(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body="", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def is_allowed(self):
        check_arguments()
        if not PATH.fullmatch(self.path):
            log(f"complaint: path {self.path}")
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self.answer(401)
        return False

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_allowed():
            return
        for fault in faults_of(body):
            log(f"complaint: {fault}")
        mode = next_mode()
        log(f"PUT {self.path.split('/')[-1].split('?')[0]} {mode}")
        if mode == "slow":
            time.sleep(2)
        if mode == "cut":
            self.close_connection = True
            self.connection.close()
        elif mode == "429":
            self.answer(429, "", [("Retry-After", "1")])
        elif mode == "429-long":
            self.answer(429, "", [("retry-after", "86400")])
        elif mode in ("400", "401", "500"):
            self.answer(int(mode), '{"error":{"code":"x","message":"INVALID_FORMAT \\u001b[2J"}}')
        else:
            self.answer(201, body.decode())

    def do_GET(self):
        if not self.is_allowed():
            return
        self.answer(200, (FOLDER / "insights").read_text())

    def log_message(self, *_):
        pass


class Metadata(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_known = self.path.startswith("/metadata/identity/oauth2/token?")
        if not is_known or self.headers.get("Metadata") != "true":
            self.send_error(400)
            return
        body = json.dumps({"access_token": TOKEN, "expires_in": "3599"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


azure = http.server.ThreadingHTTPServer(("localhost", 0), Azure)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
azure.socket = context.wrap_socket(azure.socket, server_side=True)
metadata = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
threading.Thread(target=metadata.serve_forever, daemon=True).start()
(FOLDER / "ports.new").write_text(f"{azure.server_port} {metadata.server_port}\n")
(FOLDER / "ports.new").rename(FOLDER / "ports")
azure.serve_forever()
