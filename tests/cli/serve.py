#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `schedlab serve` gives out, and what it must not.

  serve.py PROGRAM FOLDER
"""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys


def fail(what):
    raise SystemExit(f"failed: {what}")


def expect(condition, what):
    if not condition:
        fail(what)


def raw(port, request):
    """The status of an answer to bytes that a client of HTTP would not send; 0: none came."""
    with socket.create_connection(("127.0.0.1", port), timeout=15) as connection:
        answer = b""
        try:
            connection.sendall(request)
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionError:
            pass
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def get(port, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


def make_results(program, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    spec = {"workload": {"kind": "lstm", "layers": 2, "steps": 4, "batch": 8, "hidden": 64},
            "machine": "v100", "policy": "diagonal"}
    with open(f"{folder}/spec.json", "w") as file:
        json.dump(spec, file)
    out = f"{folder}/out"
    subprocess.run([program, "simulate", f"{folder}/spec.json", "--out", f"{out}/<b>&'one"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/secret.txt", "w") as file:
        file.write("secret")
    os.symlink("../secret.txt", f"{out}/link.txt")
    os.symlink("..", f"{out}/up")
    os.symlink("<b>&'one", f"{out}/inside")
    os.mkfifo(f"{out}/pipe")
    with open(f"{out}/large.bin", "wb") as file:
        file.write(bytes(range(256)) * 40000)
    return out


def check_answers(port, out):
    one = "/%3Cb%3E%26%27one"
    status, headers, body = get(port, "/")
    page = body.decode()
    expect(status == 200 and headers["Content-Type"].startswith("text/html"), "the list of results")
    expect("&lt;b&gt;&amp;" in page and "<b>" not in page, "names are escaped")
    expect(f'href="{one}/timeline.svg"' in page, "the list links to pictures")
    expect(f'data-trace="{one}/trace.json"' in page, "the list opens traces")
    expect("secret" not in page and "inside" not in page, "links are not listed")
    expect(headers["X-Content-Type-Options"] == "nosniff", "nosniff")
    expect("script-src 'self' 'unsafe-inline'" in headers["Content-Security-Policy"], "policy")
    status, headers, body = get(port, f"{one}/trace.json?x=1")
    with open(f"{out}/<b>&'one/trace.json", "rb") as file:
        expect(status == 200 and body == file.read(), "the bytes of a file")
    expect(headers["Content-Type"] == "application/json", "its type")
    expect("sandbox" in headers["Content-Security-Policy"], "what is no page runs nothing")
    with open(f"{out}/large.bin", "rb") as file:
        expect(get(port, "/large.bin")[2] == file.read(), "a large file")
    status, headers, body = get(port, "/large.bin", method="HEAD")
    expect(status == 200 and body == b"" and headers["Content-Length"] == "10240000", "HEAD")
    expect(get(port, f"{one}/timeline.svg")[1]["Content-Type"] == "image/svg+xml", "a picture's type")
    expect(b"PING" in get(port, "/-/traces.js")[2], "the script")
    expect(get(port, f"{one}/")[0] == 200, "one folder")


def check_refusals(port):
    for path in ["/no_such", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
                 "/%2e%2e%2fsecret.txt", "/%252e%252e/secret.txt", "//etc/passwd", "/%2fetc/passwd",
                 "/link.txt", "/up/secret.txt", "/up/", "/inside/trace.json", "/pipe", "/.hidden",
                 "/%3Cb%3E%26%27one/.schedlab.json", "/large.bin/", "/%00", "/a%", "/a%zz",
                 "/..\\secret.txt", "/./large.bin", "/up/../large.bin"]:
        status, _, body = get(port, path)
        expect(status == 404 and b"secret" not in body, f"{path}: {status}")
    for target in [b"/etc/passwd", b"http://127.0.0.1/large.bin", b"../secret.txt", b"*"]:
        request = b"GET " + target + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
        expect(raw(port, request) in (400, 404), f"{target}")
    for host in ["evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "",
                 f"localhost.evil.example:{port}", f"127.0.0.1:{port}@evil.example"]:
        expect(get(port, "/", host)[0] == 403, f"Host {host}")
    for host in [f"localhost:{port}", f"[::1]:{port}"]:
        expect(get(port, "/", host)[0] == 200, f"Host {host}")
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"]:
        expect(get(port, "/", method=method)[0] == 405, method)
    named = b"Host: 127.0.0.1:%d\r\n" % port
    expect(raw(port, b"GET / HTTP/1.1\r\n" + named + b"X: " + b"y" * 100000 + b"\r\n\r\n") in (431, 0),
           "a huge header")
    expect(raw(port, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n") in (431, 0), "a huge target")
    expect(raw(port, b"GET / HTTP/1.0\r\n\r\n") == 403, "no Host")
    expect(raw(port, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n") == 400, "no HTTP")
    expect(raw(port, b"GET / HTTP/1.1\r\n" + named + b"Content-Length: 5\r\n\r\nhello") == 400, "a body")
    two = (b"GET /-/traces.js HTTP/1.1\r\n" + named + b"\r\n") * 2
    expect(raw(port, two + b"POST / HTTP/1.1\r\n" + named + b"\r\n") == 200, "requests in a row")


def check_many_clients(port):
    idle = [socket.create_connection(("127.0.0.1", port), timeout=15) for _ in range(80)]
    for connection in idle:
        connection.close()
    expect(get(port, "/large.bin")[0] == 200, "an answer after many clients")


def main():
    program, folder = sys.argv[1], sys.argv[2]
    out = make_results(program, folder)
    refused = subprocess.run([program, "serve", f"{folder}/none"], capture_output=True, text=True)
    expect(refused.returncode == 2 and "no such folder" in refused.stderr, "a folder that is none")
    server = subprocess.Popen([program, "serve", out, "--port", "0", "--json"],
                              stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(server.stdout.readline())["address"]
        port = int(address.rstrip("/").rsplit(":", 1)[1])
        taken = subprocess.run([program, "serve", out, "--port", str(port)], capture_output=True, text=True)
        expect(taken.returncode == 2 and "--port" in taken.stderr, "a port that is taken")
        check_answers(port, out)
        check_refusals(port)
        check_many_clients(port)
        server.send_signal(signal.SIGINT)
        expect(server.wait(timeout=15) == 0, "Ctrl-C ends it")
    finally:
        server.kill()
        server.wait()


main()
