"""A service to protect: counts its POSTs and says so. Prints its port."""
import http.server


class Counter(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    executed = 0

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Counter.executed += 1
        body = b'{"executed":%d}' % Counter.executed
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counter)
print(server.server_port, flush=True)
server.serve_forever()
