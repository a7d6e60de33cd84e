"""Signs tokens by PyJWT and joserfc.

Input is a list of {"with": "pyjwt" or "joserfc", "alg", "kid", "header", "claims", "secret"}, as JSON.
Output is {"keys": a key set, "tokens": in the order of the input}.
"""

import json
import sys

import jwt
from joserfc import jwk
from joserfc import jwt as joserfc_jwt

KINDS = {"RS": ("RSA", 2048), "PS": ("RSA", 2048), "ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "ES512": ("EC", "P-521"), "EdDSA": ("OKP", "Ed25519")}

keys = {}


def key_of(alg, kid):
    """Returns the key of an id, which is made when it is asked for first."""
    if kid not in keys:
        kind, size = KINDS.get(alg) or KINDS[alg[:2]]
        keys[kid] = jwk.generate_key(kind, size, {"kid": kid, "use": "sig"})
    return keys[kid]


def sign(case):
    """Returns the token of a case."""
    alg, kid, header = case["alg"], case.get("kid"), case.get("header", {})
    if case["with"] == "pyjwt":
        key = case["secret"] if "secret" in case else key_of(alg, kid).as_pem(private=True)
        return jwt.encode(case["claims"], key, algorithm=alg, headers={"kid": kid, **header} if kid else header)
    key = jwk.import_key(case["secret"], "oct") if "secret" in case else key_of(alg, kid)
    all_of_it = {"alg": alg, **({"kid": kid} if kid else {}), **header}
    return joserfc_jwt.encode(all_of_it, case["claims"], key, algorithms=[alg])


tokens = [sign(case) for case in json.load(sys.stdin)]
json.dump({"keys": {"keys": [k.as_dict(private=False) for k in keys.values()]}, "tokens": tokens}, sys.stdout)
