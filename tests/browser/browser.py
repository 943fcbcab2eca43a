# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven by its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def find_chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page at a time. Messages are JSON with a NUL behind each."""

    def __init__(self, width=1300, height=850):
        self._profile = tempfile.TemporaryDirectory(prefix="schedlab_browser_", ignore_cleanup_errors=True)
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()

        def connect():
            # Both ends are moved out of the way first: one of them may be 3 or 4 itself.
            os.dup2(to_child, 103)
            os.dup2(from_child, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [find_chromium(), "--headless=new", *sandbox, "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
             "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={self._profile.name}",
             f"--window-size={width},{height}"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.errors = []  # of scripts
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.resize(width, height)

    def close(self):
        os.close(self._write)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        self._profile.cleanup()

    def _message(self, seconds):
        until = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError(f"no answer from the browser in {seconds} s")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            details = message["params"]["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        return message

    def call(self, method, seconds=120, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message(seconds)
            if answer.get("id") == self._number:
                break
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, file, fragment=""):
        self.errors.clear()
        self.call("Page.navigate", url=Path(file).resolve().as_uri() + fragment)
        while not self.js("document.readyState === 'complete' && location.protocol === 'file:'"):
            time.sleep(0.02)
        self.frame()

    def js(self, expression):
        """Its value, once it is resolved."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def frame(self):
        """Waits until what was asked for is drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def frame_by_time(self):
        """Waits where no script of the page runs."""
        while self.js("document.readyState") != "complete":
            time.sleep(0.02)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, name):
        self.call("Emulation.setEmulatedMedia", media=name)

    def scripts(self, enabled):
        self.call("Emulation.setScriptExecutionDisabled", value=not enabled)

    def place(self, selector, index=0):
        """The middle of an element, which is scrolled to."""
        return self.js(
            f"""(() => {{ const element = document.querySelectorAll({json.dumps(selector)})[{index}];
            element.scrollIntoView({{block: 'center'}}); const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; }})()"""
        )

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.frame()

    def click(self, x, y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.frame()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in (0.3, 0.7, 1):
            self.mouse("mouseMoved", x + part * (to_x - x), y + part * (to_y - y), button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.frame()

    def wheel(self, x, y, distance):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=distance)
        self.frame()

    def key(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **({"text": text} if text and kind == "keyDown" else {}))
        self.frame()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.frame()

    def screenshot(self, file, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        Path(file).write_bytes(base64.b64decode(data))
