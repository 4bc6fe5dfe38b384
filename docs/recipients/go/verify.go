// Package recipient receives signed webhooks of Heliograph: verification, once-only processing and an HTTP handler.
//
// It needs the standard library only. It verifies HmacV1 and StandardWebhooks with shared keys, and StandardWebhooks and
// HttpMessageSignatures with public keys.
package recipient

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	window        = 300 * time.Second
	signaturesMax = 8
)

// Scheme is a signature scheme of the sender.
type Scheme string

const (
	HmacV1                Scheme = "HmacV1"
	StandardWebhooks      Scheme = "StandardWebhooks"
	HttpMessageSignatures Scheme = "HttpMessageSignatures"
)

// Refusal is a response that is no success. Reason is for logs and never part of the response.
type Refusal struct {
	Status      int
	Code        string
	Description string
	RetryAfter  int
	Reason      string
}

func (refusal *Refusal) Error() string {
	return fmt.Sprintf("%s: %s (%s)", refusal.Code, refusal.Description, refusal.Reason)
}

// unsigned has one text for every fault, since details would help a forger.
func unsigned(reason string) error {
	return &Refusal{Status: 401, Code: "invalid_signature", Description: "The signature or its timestamp is not valid", Reason: reason}
}

func unreadable(reason string) error {
	return &Refusal{Status: 400, Code: "invalid_event", Description: "The body is not the event in the headers", Reason: reason}
}

var (
	timestampForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`)
	originForm    = regexp.MustCompile(`(?i)^https?://[^/]*`)
	secondsForm   = regexp.MustCompile(`^\d{1,12}$`)
	hmacV1Form    = regexp.MustCompile(`^v1=[A-Za-z0-9+/]{43}=$`)
	sharedForm    = regexp.MustCompile(`^v1,[A-Za-z0-9+/]{43}=$`)
	// A comma ends each line of a repeated header. Some proxies put no space behind it.
	entryEnd   = regexp.MustCompile(`,(v\d+[a-z]?,)`)
	publicForm = regexp.MustCompile(`^v1a,[A-Za-z0-9+/]{86}==$`)
)

// Verify returns the id of the key that signed a request, or a *Refusal. The target is the request target as it was
// received, and body holds the received bytes. For HttpMessageSignatures the header also holds Host.
func Verify(scheme Scheme, header http.Header, method, target string, body []byte, keys []VerificationKey, now time.Time) (string, error) {
	switch scheme {
	case HmacV1:
		return verifyHmacV1(header, method, target, body, keys, now)
	case StandardWebhooks:
		return verifyStandard(header, body, keys, now)
	case HttpMessageSignatures:
		return verifyMessage(header, method, target, body, keys, now)
	default:
		return "", fmt.Errorf("the scheme %s is not supported", scheme)
	}
}

func verifyHmacV1(header http.Header, method, target string, body []byte, keys []VerificationKey, now time.Time) (string, error) {
	signature, timestamp := valueOf(header, "X-Signature"), valueOf(header, "X-Timestamp")
	if signature == "" {
		return "", unsigned("signature_missing")
	}
	if timestamp == "" {
		return "", unsigned("timestamp_missing")
	}
	sentAt, err := time.Parse(time.RFC3339Nano, timestamp)
	if err != nil || !timestampForm.MatchString(timestamp) {
		return "", unsigned("timestamp_malformed")
	}
	if isOutside(sentAt, now) {
		return "", unsigned("timestamp_outside_window")
	}
	// Entries of later versions and of others are beside those of v1.
	given := matching(entries(signature, ","), hmacV1Form)
	if len(given) == 0 {
		return "", unsigned("signature_malformed")
	}
	// The text of the timestamp is signed as it was received.
	hash := sha256.Sum256(body)
	text := strings.Join([]string{timestamp, strings.ToUpper(method), pathOf(target), hex.EncodeToString(hash[:])}, "\n")
	return matchingKey(keys, given, "v1=", []byte(text))
}

// verifyStandard follows Standard Webhooks 1.0.0.
func verifyStandard(header http.Header, body []byte, keys []VerificationKey, now time.Time) (string, error) {
	id, timestamp, signatures := valueOf(header, "Webhook-Id"), valueOf(header, "Webhook-Timestamp"), valueOf(header, "Webhook-Signature")
	if id == "" || signatures == "" {
		return "", unsigned("signature_missing")
	}
	if timestamp == "" {
		return "", unsigned("timestamp_missing")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !secondsForm.MatchString(timestamp) {
		return "", unsigned("timestamp_malformed")
	}
	if isOutside(time.Unix(seconds, 0), now) {
		return "", unsigned("timestamp_outside_window")
	}
	given := entries(entryEnd.ReplaceAllString(signatures, " $1"), " ")
	shared, public := matching(given, sharedForm), matching(given, publicForm)
	if len(shared)+len(public) == 0 || strings.Contains(id, ".") {
		return "", unsigned("signature_malformed")
	}
	signed := append([]byte(id+"."+timestamp+"."), body...)
	if found, err := matchingKey(keys, shared, "v1,", signed); err == nil {
		return found, nil
	}
	return ed25519Key(keys, public, signed)
}

// valueOf joins the lines of a repeated header. Source: RFC 9110 §5.3.
func valueOf(header http.Header, name string) string {
	return strings.Join(header.Values(name), ", ")
}

// pathOf returns the path of a request target, byte for byte. The absolute form is of RFC 9112 §3.2.2.
func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	origin := originForm.FindString(path)
	if origin != "" && origin == path {
		return "/"
	}
	return path[len(origin):]
}

// entries returns the first entries of a field. A comma ends each line of a repeated header.
func entries(field, separator string) []string {
	found := strings.Split(field, separator)
	found = found[:min(len(found), signaturesMax)]
	for index := range found {
		found[index] = strings.TrimSuffix(strings.Trim(found[index], " \t"), ",")
	}
	return found
}

func ed25519Key(keys []VerificationKey, given []string, signed []byte) (string, error) {
	for _, key := range keys {
		public, isEd25519 := key.Public.(ed25519.PublicKey)
		for _, one := range given {
			signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(one, "v1a,"))
			if isEd25519 && err == nil && ed25519.Verify(public, signed, signature) {
				return key.ID, nil
			}
		}
	}
	return "", unsigned("signature_mismatch")
}

func isOutside(sentAt, now time.Time) bool {
	return now.Sub(sentAt).Truncate(time.Millisecond).Abs() > window
}

func matching(texts []string, form *regexp.Regexp) []string {
	found := []string{}
	for _, text := range texts {
		if form.MatchString(text) {
			found = append(found, text)
		}
	}
	return found
}

// matchingKey compares every signature with every key in constant time, as text: several texts decode to the same bytes.
func matchingKey(keys []VerificationKey, given []string, prefix string, signed []byte) (string, error) {
	found := []string{}
	for _, key := range keys {
		// A key without bytes would sign for everybody.
		if len(key.Shared) == 0 {
			continue
		}
		mac := hmac.New(sha256.New, key.Shared)
		mac.Write(signed)
		expected := []byte(prefix + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		equal := 0
		for _, one := range given {
			equal |= subtle.ConstantTimeCompare([]byte(one), expected)
		}
		if equal == 1 {
			found = append(found, key.ID)
		}
	}
	if len(found) == 0 {
		return "", unsigned("signature_mismatch")
	}
	return found[0], nil
}

// Event is the envelope of a delivery, or a CloudEvent: its id, time and source are ID, Time and Producer. Data holds
// the bytes of the data, so that no number is rounded.
type Event struct {
	ID       string          `json:"event_id"`
	Type     string          `json:"type"`
	Version  string          `json:"version"`
	Time     string          `json:"ts"`
	Attempt  *int64          `json:"attempt"`
	Producer string          `json:"producer"`
	Tenant   string          `json:"tenant"`
	Data     json.RawMessage `json:"data"`
}

// ReadEvent reads the event of a verified delivery. The id in the signed body counts; a header that differs is refused.
func ReadEvent(header http.Header, body []byte) (Event, error) {
	var event Event
	var spec string
	members := map[string]any{
		"event_id": &event.ID, "type": &event.Type, "version": &event.Version, "ts": &event.Time,
		"attempt": &event.Attempt, "producer": &event.Producer, "tenant": &event.Tenant, "data": &event.Data,
	}
	if readMembers(body, members) != nil {
		return event, unreadable("body_malformed")
	}
	cloud := Event{}
	names := map[string]any{"specversion": &spec, "id": &cloud.ID, "time": &cloud.Time, "source": &cloud.Producer}
	if event.ID == "" && readMembers(body, names) == nil && spec == "1.0" {
		event.ID, event.Time, event.Producer = cloud.ID, cloud.Time, cloud.Producer
	}
	if event.ID == "" || event.Type == "" || event.Version == "" || event.Time == "" || event.Attempt == nil {
		return event, unreadable("body_malformed")
	}
	return event, checkID(header, event.ID)
}

// readMembers reads members of an object by their exact names: json.Unmarshal alone would take Type for type.
func readMembers(body []byte, into map[string]any) error {
	var members map[string]json.RawMessage
	if !utf8.Valid(body) {
		return errors.New("the body is not UTF-8")
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	for name, target := range into {
		if text, isPresent := members[name]; isPresent {
			if err := json.Unmarshal(text, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAcknowledgement reads the notice that an event was handled by hand, and returns the event's id. A delivery is
// none, since some schemes do not sign the path.
func readAcknowledgement(header http.Header, body []byte) (string, error) {
	var id, handledAt string
	var kind json.RawMessage
	err := readMembers(body, map[string]any{"event_id": &id, "handled_at": &handledAt, "type": &kind})
	if err != nil || id == "" || handledAt == "" || kind != nil {
		return "", unreadable("body_malformed")
	}
	return id, checkID(header, id)
}

func checkID(header http.Header, id string) error {
	if named := valueOf(header, "X-Event-Id"); named != "" && named != id {
		return unreadable("event_id_differs")
	}
	return nil
}
