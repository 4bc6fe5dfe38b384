package recipient

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"
)

type vector struct {
	Name, Method, Path, Body string
	Scheme                   Scheme
	Headers                  map[string]string
	Now                      time.Time
	Secrets                  []struct{ ID, Key string }
	PublicKeys               []namedKey `json:"public_keys"`
	Seen                     []string
	Expected                 expected
}

type namedKey struct {
	ID  string
	JWK map[string]string
}

type expected struct {
	Result, Reason, Key string
	Status              int
}

// TestVectors runs the published vectors.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("../vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, one := range file.Vectors {
		count++
		t.Run(one.Name, func(t *testing.T) {
			if got := resultOf(t, one); got != one.Expected {
				t.Errorf("got %+v, expected %+v", got, one.Expected)
			}
		})
	}
	t.Logf("%d vectors", count)
}

func resultOf(t *testing.T, one vector) expected {
	header := http.Header{}
	for name, value := range one.Headers {
		header.Set(name, value)
	}
	body := decoded(t, one.Body)
	key, err := Verify(one.Scheme, header, one.Method, one.Path, body, keysOf(t, one), one.Now)
	if err != nil {
		return refusedBy(t, err)
	}
	event, err := ReadEvent(header, body)
	if err != nil {
		return refusedBy(t, err)
	}
	return expected{Result: resultIn(t, one.Seen, event), Key: key, Status: http.StatusOK}
}

func keysOf(t *testing.T, one vector) []VerificationKey {
	set := []map[string]string{}
	for _, public := range one.PublicKeys {
		public.JWK["kid"] = public.ID
		set = append(set, public.JWK)
	}
	written, err := json.Marshal(map[string]any{"keys": set})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := PublicKeys(written)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range one.Secrets {
		keys = append(keys, VerificationKey{ID: secret.ID, Shared: decoded(t, secret.Key)})
	}
	return keys
}

func resultIn(t *testing.T, seen []string, event Event) string {
	store, nothing := NewMemoryStore(10), func(context.Context) error { return nil }
	for _, id := range append(seen, event.ID) {
		outcome, err := store.Once(context.Background(), id, "1", nothing)
		if err != nil {
			t.Fatal(err)
		}
		if outcome == Seen {
			return "duplicate"
		}
	}
	return "accepted"
}

func refusedBy(t *testing.T, err error) expected {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	return expected{Result: "refused", Reason: refusal.Reason, Status: refusal.Status}
}

func decoded(t *testing.T, text string) []byte {
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(content)
}
