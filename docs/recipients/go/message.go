package recipient

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var defaultPort = regexp.MustCompile(`:(443|80)?$`)

var requiredComponents = []string{"@method", "@path", "content-digest"}

// verifyMessage follows RFC 9421 §3.2. One signature is enough, by the key that it names. The key sets the algorithm.
func verifyMessage(header http.Header, method, target string, body []byte, keys []VerificationKey, now time.Time) (string, error) {
	values := valuesOf(header, method, target)
	inputField, hasInput := values["signature-input"]
	signatureField, hasSignature := values["signature"]
	if !hasInput || !hasSignature {
		return "", unsigned("signature_missing")
	}
	inputs, areInputs := signatureInputs(inputField)
	signatures, areSignatures := byteSequences(signatureField)
	if !areInputs || !areSignatures {
		return "", unsigned("signature_malformed")
	}
	if err := checkDigest(values["content-digest"], body); err != nil {
		return "", err
	}
	var first error
	for _, input := range inputs[:min(len(inputs), signaturesMax)] {
		for _, authority := range authorities(values["host"]) {
			values["@authority"] = authority
			if authority == "" {
				delete(values, "@authority")
			}
			key, err := messageKey(input, signatures, values, keys, now)
			if err == nil {
				return key, nil
			}
			if first == nil {
				first = err
			}
		}
	}
	return "", first
}

// authorities returns the host, and the host without a default port, which a signature leaves out. Source: RFC 9421 §2.2.3.
func authorities(host string) []string {
	host = strings.ToLower(host)
	if bare := defaultPort.ReplaceAllString(host, ""); bare != host {
		return []string{host, bare}
	}
	return []string{host}
}

// valuesOf returns each component that a signature can cover. Source: RFC 9421 §2.1 and §2.2.
func valuesOf(header http.Header, method, target string) map[string]string {
	values := map[string]string{}
	for name, given := range header {
		values[strings.ToLower(name)] = strings.TrimSpace(strings.Join(given, ", "))
	}
	_, query, _ := strings.Cut(target, "?")
	values["@method"], values["@path"], values["@query"] = method, pathOf(target), "?"+query
	return values
}

// checkDigest compares the first digest that is present. Source: RFC 9530 §5.
func checkDigest(field string, body []byte) error {
	digests, _ := byteSequences(field)
	long, short := sha512.Sum512(body), sha256.Sum256(body)
	for _, one := range []struct {
		name     string
		expected []byte
	}{{"sha-512", long[:]}, {"sha-256", short[:]}} {
		given, isGiven := digests[one.name]
		if isGiven && subtle.ConstantTimeCompare(given, one.expected) != 1 {
			return unsigned("digest_mismatch")
		}
		if isGiven {
			return nil
		}
	}
	return unsigned("digest_missing")
}

func messageKey(
	input signatureInput, signatures map[string][]byte, values map[string]string, keys []VerificationKey, now time.Time,
) (string, error) {
	signature, isSigned := signatures[input.label]
	if !isSigned {
		return "", unsigned("signature_missing")
	}
	if hasDoubles(input.components) {
		return "", unsigned("signature_malformed")
	}
	for _, name := range requiredComponents {
		if !slices.Contains(input.components, name) {
			return "", unsigned("components_missing")
		}
	}
	lines := []string{}
	for _, name := range input.components {
		value, isPresent := values[name]
		if !isPresent {
			return "", unsigned("components_missing")
		}
		lines = append(lines, quoted(name)+": "+value)
	}
	if err := checkTimes(input.parameters, now); err != nil {
		return "", err
	}
	signed := strings.Join(append(lines, `"@signature-params": `+input.text), "\n")
	for _, key := range keys {
		if quoted(key.ID) == input.parameters["keyid"] && hasSigned(key.Public, []byte(signed), signature) {
			return key.ID, nil
		}
	}
	return "", unsigned("signature_mismatch")
}

func hasDoubles(names []string) bool {
	for index, name := range names {
		if slices.Contains(names[:index], name) {
			return true
		}
	}
	return false
}

func checkTimes(parameters map[string]string, now time.Time) error {
	created, isCreated := parameters["created"]
	if !isCreated {
		return unsigned("timestamp_missing")
	}
	if expires, isExpiring := parameters["expires"]; isExpiring {
		seconds, err := strconv.ParseInt(expires, 10, 64)
		if err != nil || now.Truncate(time.Millisecond).After(time.Unix(seconds, 0)) {
			return unsigned("timestamp_outside_window")
		}
	}
	seconds, err := strconv.ParseInt(created, 10, 64)
	if err != nil {
		return unsigned("timestamp_malformed")
	}
	if isOutside(time.Unix(seconds, 0), now) {
		return unsigned("timestamp_outside_window")
	}
	return nil
}
