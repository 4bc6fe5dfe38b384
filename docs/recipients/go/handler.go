package recipient

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// bodyBytesMax is an event of 256 KiB and the attempt that the sender adds.
const bodyBytesMax = 262_208

// inFlightMax is the number of requests at once; more are answered 429.
const inFlightMax = 256

const ackPath = "/webhooks/ack"

// statusForm has the event id as a segment. URLs drop the segments . and .., so that ?event_id= is the other way.
var statusForm = regexp.MustCompile(`/webhooks/status/([^/]+)$`)

const statusQueryPath = "/webhooks/status"

var traceForm = regexp.MustCompile(`^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}`)

// Recipient is an http.Handler: any POST is a delivery, except POST to a path that ends in /webhooks/ack. GET
// /webhooks/status/ID, or with ?event_id=ID, returns the record of an event. Mount it where deliveries arrive, since the signature covers the unchanged path.
type Recipient struct {
	Scheme Scheme
	// Keys is called for each delivery, so that a rotation needs no restart.
	Keys  func() []VerificationKey
	Store Store
	// Handle is the effect of an event, inside the transaction of the store. It returns a *Refusal for a response with
	// another status. Every other error becomes a 500, which the sender repeats.
	Handle  func(ctx context.Context, event Event) error
	Version string
	// MayReadStatus says who may read the status of events. Without it nobody may.
	MayReadStatus func(request *http.Request) bool

	// now is the clock; nil is that of the machine.
	now      func() time.Time
	inFlight atomic.Int64
}

func (recipient *Recipient) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	traceID := traceIDOf(request)
	writer.Header().Set("X-Trace-Id", traceID)
	answer, err := recipient.answer(writer, request)
	if err != nil {
		refuse(writer, traceID, err)
		return
	}
	if answer == nil {
		writer.WriteHeader(http.StatusOK)
		return
	}
	writeJSON(writer, http.StatusOK, answer)
}

func (recipient *Recipient) answer(writer http.ResponseWriter, request *http.Request) (any, error) {
	defer recipient.inFlight.Add(-1)
	if recipient.inFlight.Add(1) > inFlightMax {
		return nil, &Refusal{Status: 429, Code: "too_many_requests", Description: "Too many requests are being processed", RetryAfter: 1}
	}
	path := pathOf(request.RequestURI)
	eventID, isStatus := namedEvent(request)
	switch {
	case request.Method == http.MethodOptions && request.Header.Get("WebHook-Request-Origin") != "":
		// Every sender may ask: its deliveries need a signature all the same.
		writer.Header().Set("WebHook-Allowed-Origin", "*")
		writer.Header().Set("WebHook-Allowed-Rate", "*")
		return nil, nil
	case request.Method == http.MethodPost:
		body, err := readBody(writer, request)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(path, ackPath) {
			return nil, recipient.acknowledge(request, body)
		}
		return nil, recipient.deliver(request, body)
	case !isStatus || recipient.MayReadStatus == nil || !recipient.MayReadStatus(request):
		return nil, &Refusal{Status: 404, Code: "not_found", Description: "This path does not exist"}
	case request.Method != http.MethodGet:
		return nil, &Refusal{Status: 405, Code: "method_not_allowed", Description: "The status of an event is read with GET"}
	default:
		return recipient.status(request.Context(), eventID)
	}
}

// namedEvent returns the escaped id of the event whose status is read.
func namedEvent(request *http.Request) (string, bool) {
	path := pathOf(request.RequestURI)
	if segment := statusForm.FindStringSubmatch(path); segment != nil {
		return segment[1], true
	}
	named := request.URL.Query().Get("event_id")
	return url.PathEscape(named), named != "" && strings.HasSuffix(path, statusQueryPath)
}

func readBody(writer http.ResponseWriter, request *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, bodyBytesMax))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &Refusal{Status: 413, Code: "body_too_large", Description: "The body of a delivery has at most 262208 bytes"}
	}
	if err != nil {
		return nil, &Refusal{Status: 400, Code: "invalid_request", Description: "The body of the request is malformed"}
	}
	return body, nil
}

// deliver verifies, looks, then checks again, acts and marks in one transaction, and only then answers 200.
func (recipient *Recipient) deliver(request *http.Request, body []byte) error {
	if err := recipient.verify(request, body); err != nil {
		return err
	}
	event, err := ReadEvent(request.Header, body)
	if err != nil {
		return err
	}
	record, err := recipient.Store.Find(request.Context(), event.ID)
	if err != nil || (record != nil && record.Status == "ok") {
		return err
	}
	// A sender that hangs up must not undo half of an effect.
	ctx := context.WithoutCancel(request.Context())
	outcome, err := recipient.Store.Once(ctx, event.ID, recipient.Version, func(ctx context.Context) error {
		return recipient.Handle(ctx, event)
	})
	if err != nil {
		return err
	}
	return refusalOf(outcome)
}

// acknowledge marks an event that an operator of the sender handled by hand, without its effect.
func (recipient *Recipient) acknowledge(request *http.Request, body []byte) error {
	if err := recipient.verify(request, body); err != nil {
		return err
	}
	eventID, err := readAcknowledgement(request.Header, body)
	if err != nil {
		return err
	}
	nothing := func(context.Context) error { return nil }
	outcome, err := recipient.Store.Once(request.Context(), eventID, recipient.Version, nothing)
	if err != nil {
		return err
	}
	return refusalOf(outcome)
}

func (recipient *Recipient) verify(request *http.Request, body []byte) error {
	// The server takes Host out of the header.
	header := request.Header.Clone()
	header.Set("Host", request.Host)
	_, err := Verify(recipient.Scheme, header, request.Method, request.RequestURI, body, recipient.Keys(), recipient.time())
	return err
}

func (recipient *Recipient) time() time.Time {
	if recipient.now == nil {
		return time.Now()
	}
	return recipient.now()
}

func refusalOf(outcome Outcome) error {
	switch outcome {
	case Busy:
		return &Refusal{Status: 429, Code: "in_progress", Description: "The same event is being processed", RetryAfter: 1}
	case Full:
		return &Refusal{Status: 503, Code: "store_full", Description: "The store of seen events is full", RetryAfter: 60}
	default:
		return nil
	}
}

func (recipient *Recipient) status(ctx context.Context, escaped string) (any, error) {
	eventID, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, &Refusal{Status: 400, Code: "invalid_event_id", Description: "The event id is not valid percent-encoding"}
	}
	record, err := recipient.Store.Find(ctx, eventID)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return map[string]any{"seen": false}, nil
	}
	return map[string]any{
		"seen":            record.Status == "ok",
		"processed_at":    record.ProcessedAt.UTC().Format("2006-01-02T15:04:05.000Z"),
		"handler_version": record.HandlerVersion,
	}, nil
}

func refuse(writer http.ResponseWriter, traceID string, err error) {
	log.Printf("trace %s: %v", traceID, err)
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		refusal = &Refusal{Status: 500, Code: "internal_error", Description: "Failed"}
	}
	if refusal.RetryAfter > 0 {
		writer.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
	body := map[string]string{"error": refusal.Code, "error_description": refusal.Description, "trace_id": traceID}
	writeJSON(writer, refusal.Status, body)
}

func writeJSON(writer http.ResponseWriter, status int, body any) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	// The sender may have hung up; it repeats the delivery then.
	_ = json.NewEncoder(writer).Encode(body)
}

// traceIDOf returns the trace that the sender is in, else a new one.
func traceIDOf(request *http.Request) string {
	if found := traceForm.FindStringSubmatch(request.Header.Get("Traceparent")); found != nil && strings.Trim(found[1], "0") != "" {
		return found[1]
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}
