package recipient

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// VerificationKey is a key in force. A recipient has two of them during a rotation.
type VerificationKey struct {
	// ID names the key. In HttpMessageSignatures it is the kid of the sender's key set.
	ID string
	// Shared holds the bytes of a shared key.
	Shared []byte
	// Public is nil for a shared key, else an ed25519.PublicKey or an *ecdsa.PublicKey of P-256 or P-384.
	Public crypto.PublicKey
}

// prefixForm is a prefix of Standard Webhooks anywhere, and in any case.
var prefixForm = regexp.MustCompile(`(?i)wh(sec|sk|pk)_`)

// SharedKey returns the bytes of a key: those of a text as they are, or the base64 after whsec_.
func SharedKey(written []byte) ([]byte, error) {
	text := strings.TrimSpace(string(written))
	prefixed, isPrefixed := strings.CutPrefix(text, "whsec_")
	if isPrefixed {
		return prefixedKey(prefixed)
	}
	if prefixForm.MatchString(text) || strings.HasPrefix(text, "-----BEGIN ") {
		return nil, errors.New("the key is no shared key: write whsec_ and base64 alone")
	}
	if len(written) < 32 {
		return nil, errors.New("the key has fewer than 32 bytes")
	}
	return written, nil
}

func prefixedKey(digits string) ([]byte, error) {
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(digits, "="))
	if err != nil {
		return nil, fmt.Errorf("the key is not base64 after whsec_: %w", err)
	}
	if len(key) < 24 || len(key) > 64 {
		return nil, errors.New("the key has fewer than 24 or more than 64 bytes after whsec_")
	}
	return key, nil
}

// PublicKey returns the public key of a PEM text.
func PublicKey(written []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(written)
	if block == nil {
		return nil, errors.New("the public key is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case ed25519.PublicKey:
		return key, nil
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() || key.Curve == elliptic.P384() {
			return key, nil
		}
	}
	return nil, errors.New("the public key is not of Ed25519, P-256 or P-384")
}

type jwk struct{ Kid, Crv, X, Y string }

// PublicKeys returns the keys of the JSON at /webhooks/partners/NAMESPACE/NAME/jwks.json. It leaves out keys of other
// kinds.
func PublicKeys(written []byte) ([]VerificationKey, error) {
	var set struct{ Keys []jwk }
	if err := json.Unmarshal(written, &set); err != nil {
		return nil, err
	}
	found := []VerificationKey{}
	for _, one := range set.Keys {
		public, err := one.key()
		if err != nil {
			return nil, fmt.Errorf("the key %s: %w", one.Kid, err)
		}
		if one.Kid != "" && public != nil {
			found = append(found, VerificationKey{ID: one.Kid, Public: public})
		}
	}
	return found, nil
}

// key follows RFC 7518 §6.2 and RFC 8037 §2. It is nil for other kinds.
func (one jwk) key() (crypto.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(one.X)
	y, errY := base64.RawURLEncoding.DecodeString(one.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	var curve elliptic.Curve
	switch one.Crv {
	case "Ed25519":
		if len(x) != ed25519.PublicKeySize {
			return nil, errors.New("x has not 32 bytes")
		}
		return ed25519.PublicKey(x), nil
	case "P-256":
		curve = elliptic.P256()
	case "P-384":
		curve = elliptic.P384()
	default:
		return nil, nil
	}
	key := &ecdsa.PublicKey{Curve: curve, X: new(big.Int).SetBytes(x), Y: new(big.Int).SetBytes(y)}
	// This checks that the point is on the curve.
	if _, err := key.ECDH(); err != nil {
		return nil, err
	}
	return key, nil
}

// hasSigned says whether the private half of a public key made the signature. Any bytes may be given.
func hasSigned(public crypto.PublicKey, signed, signature []byte) bool {
	switch key := public.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(key, signed, signature)
	case *ecdsa.PublicKey:
		// r and s, each as long as the numbers of the curve. Source: RFC 9421 §3.3.4 and §3.3.5.
		size := key.Params().BitSize / 8
		if len(signature) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		return ecdsa.Verify(key, digestFor(key, signed), r, s)
	default:
		return false
	}
}

func digestFor(key *ecdsa.PublicKey, signed []byte) []byte {
	if key.Curve == elliptic.P384() {
		digest := sha512.Sum384(signed)
		return digest[:]
	}
	digest := sha256.Sum256(signed)
	return digest[:]
}
