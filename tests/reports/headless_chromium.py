"""A real browser for tests, driven over its DevTools pipe: no driver and no package is needed."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60.0  # a slow machine; nothing waits this long unless something is broken
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,1000",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """The installed browser, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


needs_chromium = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium found (Debian package: chromium)"
)


class HeadlessChromium:
    """One browser process with one page."""

    def __init__(self, executable: str, profile: Path) -> None:
        command_out, self._commands = os.pipe()
        self._answers, answer_in = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on descriptor 4.
        words = [executable, *FLAGS, f"--user-data-dir={profile}"]
        shell = f"exec {shlex.join(words)} 3<&{command_out} 4>&{answer_in}"
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell],
            pass_fds=(command_out, answer_in),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_out)
        os.close(answer_in)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call one DevTools method and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path) -> None:
        """Load a file and wait until it and its scripts are done."""
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Everything that the page wrote to the console, and every exception."""
        self.evaluate("new Promise((resolve) => setTimeout(resolve))")
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=SECONDS)
        os.close(self._commands)
        os.close(self._answers)

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self._answers, 1 << 16) if ready else b""
            assert chunk, "the browser ended or gave no answer in time"
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        read: dict[str, Any] = json.loads(message)
        return read
