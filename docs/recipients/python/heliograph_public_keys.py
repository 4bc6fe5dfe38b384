"""Public keys of the sender: Ed25519, and P-256 and P-384 for RFC 9421. They need the package `cryptography`."""

import base64
import json

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils

    HAS_CRYPTOGRAPHY = True
except ModuleNotFoundError:
    HAS_CRYPTOGRAPHY = False


def public_key(pem):
    """The key of a PEM text. In HttpMessageSignatures its id is the `kid` of the sender's key set."""
    _require_cryptography()
    return PublicKey(serialization.load_pem_public_key(pem))


def public_keys(text):
    """Keys by id, of the JSON at `/webhooks/partners/NAMESPACE/NAME/jwks.json`; keys of other kinds are left out."""
    _require_cryptography()
    named = [(jwk.get("kid"), _key_of(jwk)) for jwk in json.loads(text)["keys"]]
    return {name: PublicKey(key) for name, key in named if name is not None and key is not None}


def _require_cryptography():
    if not HAS_CRYPTOGRAPHY:
        raise RuntimeError("public keys need a package; install it: python3 -m pip install cryptography")


def _key_of(jwk):
    """Source: RFC 7518 §6.2, RFC 8037 §2."""
    if jwk.get("crv") == "Ed25519":
        return ed25519.Ed25519PublicKey.from_public_bytes(_bytes_of(jwk["x"]))
    curve = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1}.get(jwk.get("crv"))
    if curve is None:
        return None
    x, y = [int.from_bytes(_bytes_of(jwk[name]), "big") for name in ("x", "y")]
    return ec.EllipticCurvePublicNumbers(x, y, curve()).public_key()


def _bytes_of(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class PublicKey:
    """A key that verifies and cannot sign."""

    def __init__(self, key):
        self.is_ed25519 = isinstance(key, ed25519.Ed25519PublicKey)
        curve = getattr(getattr(key, "curve", None), "name", None)
        if not self.is_ed25519 and curve not in ("secp256r1", "secp384r1"):
            raise ValueError("the public key is not of Ed25519, P-256 or P-384")
        self._key = key
        self._hash = None if self.is_ed25519 else hashes.SHA256() if curve == "secp256r1" else hashes.SHA384()

    def has_signed(self, text, signature):
        """Whether the private half made the signature. Any bytes may be given."""
        try:
            if self.is_ed25519:
                self._key.verify(signature, text)
            else:
                self._key.verify(self._asn1(signature), text, ec.ECDSA(self._hash))
        except InvalidSignature:
            return False
        return True

    def _asn1(self, signature):
        """Source: RFC 9421 §3.3.4 and §3.3.5: r and s, each as long as the numbers of the curve."""
        size = self._key.key_size // 8
        if len(signature) != 2 * size:
            raise InvalidSignature
        r, s = [int.from_bytes(part, "big") for part in (signature[:size], signature[size:])]
        return utils.encode_dss_signature(r, s)
