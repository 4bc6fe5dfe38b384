package recipient

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var key = []byte(strings.Repeat("k", 32))

func newRecipient(handle func(context.Context, Event) error) *Recipient {
	return &Recipient{
		Scheme:        HmacV1,
		Keys:          func() []VerificationKey { return []VerificationKey{{ID: "one", Shared: key}} },
		Store:         NewMemoryStore(10),
		Handle:        handle,
		Version:       "1",
		MayReadStatus: func(request *http.Request) bool { return request.Header.Get("Authorization") == "me" },
	}
}

// send posts a signed body and returns the status.
func send(handler http.Handler, path, body string) *httptest.ResponseRecorder {
	timestamp := time.Now().UTC().Format(time.RFC3339Nano)
	hash := sha256.Sum256([]byte(body))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join([]string{timestamp, "POST", path, hex.EncodeToString(hash[:])}, "\n")))
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("X-Timestamp", timestamp)
	request.Header.Set("X-Signature", "v1="+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return serve(handler, request)
}

func serve(handler http.Handler, request *http.Request) *httptest.ResponseRecorder {
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

func read(handler http.Handler, path, authorization string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Authorization", authorization)
	return serve(handler, request)
}

const body = `{"event_id":"evt_1","type":"payout.processed","version":"2026-01-01","ts":"2026-01-01T00:00:00.000Z","attempt":1}`

func TestOutcomes(t *testing.T) {
	failures := []error{errors.New("no database"), &Refusal{Status: 422, Code: "invalid_state"}, nil}
	calls := 0
	handler := newRecipient(func(context.Context, Event) error {
		calls++
		return failures[calls-1]
	})
	for index, status := range []int{500, 422, 200, 200} {
		if got := send(handler, "/webhooks/v1/payout", body).Code; got != status {
			t.Errorf("delivery %d: got %d, expected %d", index, got, status)
		}
	}
	if calls != 3 {
		t.Errorf("the effect ran %d times, expected 3", calls)
	}
}

func TestConcurrentCopyIsBusy(t *testing.T) {
	var handler *Recipient
	copies := 0
	handler = newRecipient(func(context.Context, Event) error {
		copies++
		response := send(handler, "/webhooks/v1/payout", body)
		if response.Code != 429 || response.Header().Get("Retry-After") != "1" {
			t.Errorf("got %d with %v", response.Code, response.Header())
		}
		return nil
	})
	if got := send(handler, "/webhooks/v1/payout", body).Code; got != 200 || copies != 1 {
		t.Errorf("got %d after %d effects", got, copies)
	}
}

func TestAcknowledgementAndStatus(t *testing.T) {
	handler := newRecipient(func(context.Context, Event) error {
		t.Error("the effect ran")
		return nil
	})
	if got := send(handler, "/webhooks/ack", body).Code; got != 400 {
		t.Errorf("a delivery: got %d", got)
	}
	if got := send(handler, "/webhooks/ack", `{"event_id":"evt_1","handled_at":"2026-01-01T00:00:00.000Z"}`).Code; got != 200 {
		t.Errorf("got %d", got)
	}
	if got := send(handler, "/webhooks/v1/payout", body).Code; got != 200 {
		t.Errorf("got %d", got)
	}
	known := read(handler, "/webhooks/status/evt_1", "me").Body.String()
	if !strings.Contains(known, `"seen":true`) || !strings.Contains(known, `"handler_version":"1"`) {
		t.Errorf("got %s", known)
	}
	if unknown := read(handler, "/webhooks/status/evt_2", "me").Body.String(); unknown != "{\"seen\":false}\n" {
		t.Errorf("got %s", unknown)
	}
	if got := read(handler, "/webhooks/status/evt_1", "").Code; got != 404 {
		t.Errorf("got %d", got)
	}
}

func TestLargeBodyIsRefused(t *testing.T) {
	if got := send(newRecipient(nil), "/webhooks/v1/payout", strings.Repeat(" ", bodyBytesMax+1)).Code; got != 413 {
		t.Errorf("got %d", got)
	}
}

func TestSenderThatAsksGetsConsent(t *testing.T) {
	request := httptest.NewRequest(http.MethodOptions, "/webhooks/v1/payout", nil)
	if got := serve(newRecipient(nil), request).Code; got != 404 {
		t.Errorf("without an origin: got %d", got)
	}
	request.Header.Set("WebHook-Request-Origin", "sender.example")
	response := serve(newRecipient(nil), request)
	origin, rate := response.Header().Get("WebHook-Allowed-Origin"), response.Header().Get("WebHook-Allowed-Rate")
	if response.Code != 200 || origin != "*" || rate != "*" {
		t.Errorf("got %d with %v", response.Code, response.Header())
	}
}

func TestRequestsHaveABound(t *testing.T) {
	handler := newRecipient(func(context.Context, Event) error { return nil })
	handler.inFlight.Store(inFlightMax)
	response := send(handler, "/webhooks/v1/payout", body)
	if response.Code != 429 || response.Header().Get("Retry-After") != "1" {
		t.Errorf("got %d with %v", response.Code, response.Header())
	}
	handler.inFlight.Store(inFlightMax - 1)
	if got := send(handler, "/webhooks/v1/payout", body).Code; got != 200 {
		t.Errorf("got %d", got)
	}
}
