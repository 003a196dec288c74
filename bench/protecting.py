"""What protection costs: the gateway with everything on (tokens verified, TLS to clients, encryption at
rest, limits) beside the same gateway with all of it off."""

import base64
import http.client
import json
import secrets
import ssl
import subprocess
import time

from crowding import Crowded
from load import BODY, BenchError, new_prefix
from runs import Runs
from servers import Server, free_port

CONNECTIONS = 256
TENANTS = 100
ISSUER, AUDIENCE = "https://issuer.example", "orders"


def openssl(*words, data=None):
    result = subprocess.run(["openssl", *words], input=data, capture_output=True, check=False)
    if result.returncode != 0:
        raise BenchError(f"openssl {words[0]}: {result.stderr.decode().strip()}")
    return result.stdout


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def raw_signature(der):
    """ECDSA's two numbers, 32 bytes each, out of their ASN.1 sequence."""
    numbers, at = [], 2
    for _ in range(2):
        size = der[at + 1]
        numbers.append(der[at + 2:at + 2 + size].lstrip(b"\0").rjust(32, b"\0"))
        at += 2 + size
    return b"".join(numbers)


def make_token(key_file, subject):
    now = int(time.time())
    claims = {"sub": subject, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 36_000}
    text = ".".join(base64url(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, claims))
    der = openssl("dgst", "-sha256", "-sign", str(key_file), data=text.encode())
    return f"{text}.{base64url(raw_signature(der))}"


def protection(folder):
    """The files that protection needs, and the settings that name them."""
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.pem"))
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(folder / "token.key"))
    openssl("ec", "-in", str(folder / "token.key"), "-pubout", "-out", str(folder / "token.pem"))
    (folder / "encryption.keys").write_text(f"bench {base64.b64encode(secrets.token_bytes(32)).decode()}\n")
    tokens = [make_token(folder / "token.key", f"tenant-{number}") for number in range(TENANTS)]
    (folder / "tokens").write_text("\n".join(tokens) + "\n")
    return f"""
[tls]
cert = "{folder / 'tls.pem'}"
key = "{folder / 'tls.key'}"
[tenant]
from = "jwt"
keys = "{folder / 'token.pem'}"
algorithms = ["ES256"]
issuer = "{ISSUER}"
audience = "{AUDIENCE}"
[encryption]
keys_file = "{folder / 'encryption.keys'}"
[limits]
new_keys_per_second = 1000000
new_keys_burst = 1000000
live_keys_max = 100000000
"""


class Protected:
    title = "everything on, beside everything off"

    def __init__(self, bench):
        self.bench, self.runs = bench, Runs(bench.upstream, bench.seconds, bench.report)
        self.plain = bench.start_gateway(f"rocksdb:{bench.place / 'plain'}")
        self.protected = self.start_protected()
        self.check()

    def start_protected(self):
        folder = self.bench.place
        port, admin = free_port(), free_port()
        configuration = folder / "protected.toml"
        configuration.write_text(f"""listen = "127.0.0.1:{port}"
admin = "127.0.0.1:{admin}"
upstream = "http://127.0.0.1:{self.bench.upstream.port}"
store = "rocksdb:{folder / 'protected'}"
log.level = "warn"
{protection(folder)}""")
        server = Server("oncekey, protected", [str(self.bench.program), "serve", "--config", str(configuration)], port,
                        folder / "protected.log")
        server.admin = admin
        self.bench.keep(server)
        return server.wait_until_up()

    def post(self, token, key):
        context = ssl.create_default_context(cafile=self.bench.place / "tls.pem")
        connection = http.client.HTTPSConnection("127.0.0.1", self.protected.port, timeout=10, context=context)
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        connection.request("POST", "/orders", BODY, headers | ({"Authorization": f"Bearer {token}"} if token else {}))
        response = connection.getresponse()
        response.read()
        connection.close()
        return response.status, response.headers.get("Idempotency-Replayed")

    def check(self):
        """Protection that lets anybody in would be quick."""
        key, token = new_prefix(), (self.bench.place / "tokens").read_text().split()[0]
        wrong = token[:-8] + ("A" * 8 if not token.endswith("A" * 8) else "B" * 8)
        answers = [self.post(None, key), self.post(wrong, key), self.post(token, key), self.post(token, key)]
        if answers != [(401, None), (401, None), (201, None), (201, "true")]:
            raise BenchError(f"the protected gateway answered {answers}")

    def round(self):
        """The same requests, tokens included: without protection they pass on to the upstream unread."""
        tokens = self.bench.place / "tokens"
        self.runs.measure("plain", self.plain, "fresh", CONNECTIONS, tokens=tokens)
        self.runs.measure("protected", self.protected, "fresh", CONNECTIONS, scheme="https", tokens=tokens)

    def figures(self):
        return [self.runs.compare(
            f"protection on ÷ off, fresh keys, {CONNECTIONS} connections: throughput", "rate",
            ("protected", "fresh", CONNECTIONS), ("plain", "fresh", CONNECTIONS), 0.6, 0.8, True,
            f"ES256 tokens of {TENANTS} tenants, TLS with keep-alive, AES-256-GCM at rest, limits")]


STAGES = (Protected, Crowded)
