"""A login service for a try: two people with passwords. It answers as nginx's auth_request
wants: 200 and a header with the name, or 401.

    python3 login.py PORT
"""

import base64
import hmac
import http.server
import sys

PEOPLE = {"ann": "ann-secret", "bob": "bob-secret"}


class Login(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = self.who()
        self.send_response(200 if name else 401)
        if name:
            self.send_header("X-Auth-User", name)
        else:
            self.send_header("WWW-Authenticate", 'Basic realm="try"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def who(self):
        scheme, _, word = self.headers.get("Authorization", "").partition(" ")
        try:
            name, _, password = base64.b64decode(word, validate=True).decode().partition(":")
        except ValueError:
            return None
        known = PEOPLE.get(name, "")
        if scheme == "Basic" and known and hmac.compare_digest(known, password):
            return name
        return None

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Login).serve_forever()
