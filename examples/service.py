"""A smoothed classifier behind HTTP: a class that is certified, or an abstention.

python examples/service.py --port 8000, then:
    curl --data-binary @image.json 'http://localhost:8000/?radius=0.25'
where image.json holds one input as nested lists of numbers. The answer is JSON: the class or null,
the radius that is certified for it, and the votes that it took. Each answer has fresh noise, drawn
after the input has arrived (docs/security.md). An example: put limits before it.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

import dsrs

MOST_BYTES = 1 << 24  # of one input as text


class Service(BaseHTTPRequestHandler):
    """Answers POST requests that hold one input."""

    smoothed: dsrs.SmoothedClassifier

    def do_POST(self) -> None:
        try:
            self._reply(200, self._answer())
        except (dsrs.DsrsError, ValueError) as error:  # what was sent is wrong, and this says how
            self._reply(400, {"error": str(error)})

    def _answer(self) -> dict[str, Any]:
        length = int(self.headers.get("Content-Length", 0))
        if length > MOST_BYTES:
            raise ValueError(f"expected at most {MOST_BYTES} bytes, got {length}")
        x = np.array(json.loads(self.rfile.read(length)), dtype=np.float32)
        (radius,) = parse_qs(urlsplit(self.path).query).get("radius", ["0.25"])
        answer = self.smoothed.predict(x, radius=float(radius))
        return {
            "class": answer.label,
            "radius": answer.certificate.radius if answer.label is not None else 0.0,
            "votes": sum(answer.counts),
        }

    def _reply(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="0 chooses one")
    port = parser.parse_args().port
    Service.smoothed = dsrs.smooth(dsrs.load_demo().model, sigma=0.5)  # here goes your model
    with ThreadingHTTPServer(("127.0.0.1", port), Service) as server:
        print(f"listening on port {server.server_port}", flush=True)
        server.serve_forever()
