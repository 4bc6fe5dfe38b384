"""Tests of public keys, which need the package `cryptography`. Usage: python3 -m unittest"""

import base64
import json
import unittest

from heliograph_public_keys import HAS_CRYPTOGRAPHY, public_key, public_keys

# The key of RFC 9421 §B.1.4, in both forms.
PEM = b"""-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
-----END PUBLIC KEY-----
"""
JWK = {"kty": "OKP", "crv": "Ed25519", "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs", "kid": "one"}
OTHER = {"kty": "RSA", "n": "AQ", "e": "AQAB", "kid": "two"}
# The signed text of RFC 9421 §B.2.6, and its signature.
SIGNED = b'''"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@authority": example.com
"content-type": application/json
"content-length": 18
"@signature-params": ("date" "@method" "@path" "@authority" \
"content-type" "content-length");created=1618884473;keyid="test-key-ed25519"'''
SIGNATURE = base64.b64decode("wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==")


class PublicKeys(unittest.TestCase):
    @unittest.skipUnless(HAS_CRYPTOGRAPHY, "the package cryptography is not installed")
    def test_a_set_holds_the_keys_of_known_kinds(self):
        self.assertEqual(list(public_keys(json.dumps({"keys": [JWK, OTHER, {**JWK, "kid": None}]}))), ["one"])

    @unittest.skipUnless(HAS_CRYPTOGRAPHY, "the package cryptography is not installed")
    def test_a_key_knows_what_it_signed(self):
        for key in (public_key(PEM), public_keys(json.dumps({"keys": [JWK]}))["one"]):
            self.assertTrue(key.has_signed(SIGNED, SIGNATURE))
            self.assertFalse(key.has_signed(SIGNED + b" ", SIGNATURE))
            self.assertFalse(key.has_signed(SIGNED, SIGNATURE[:63]))

    @unittest.skipIf(HAS_CRYPTOGRAPHY, "the package cryptography is installed")
    def test_without_the_package_the_error_says_what_to_install(self):
        for read, text in ((public_key, PEM), (public_keys, json.dumps({"keys": [JWK]}))):
            with self.assertRaisesRegex(RuntimeError, "pip install cryptography"):
                read(text)


if __name__ == "__main__":
    unittest.main()
