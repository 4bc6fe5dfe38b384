package recipient

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

type httpVector struct {
	vector
	Exchanges []struct {
		Request string
		Status  int
		Headers map[string]string
		Body    map[string]any
	}
	Effects []string
}

// TestHTTPVectors sends the published requests, byte for byte.
func TestHTTPVectors(t *testing.T) {
	var file struct{ HTTP []httpVector }
	readVectors(t, &file)
	for _, one := range file.HTTP {
		t.Run(one.Name, func(t *testing.T) { runExchanges(t, one) })
	}
	t.Logf("%d HTTP vectors", len(file.HTTP))
}

func TestKeyVectors(t *testing.T) {
	var file struct {
		Keys []struct {
			Text string
			Key  *string
		}
	}
	readVectors(t, &file)
	for _, one := range file.Keys {
		key, err := SharedKey([]byte(one.Text))
		isRejected := err != nil
		if isRejected != (one.Key == nil) || (one.Key != nil && base64.StdEncoding.EncodeToString(key) != *one.Key) {
			t.Errorf("%q: got %x and %v", one.Text, key, err)
		}
	}
	if len(file.Keys) == 0 {
		t.Error("there are no keys")
	}
}

func readVectors(t *testing.T, file any) {
	text, err := os.ReadFile("../vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, file); err != nil {
		t.Fatal(err)
	}
}

func runExchanges(t *testing.T, one httpVector) {
	effects := []string{}
	handler := &Recipient{
		Scheme: one.Scheme,
		Keys:   func() []VerificationKey { return keysOf(t, one.vector) },
		Store:  NewMemoryStore(10),
		Handle: func(_ context.Context, event Event) error {
			effects = append(effects, event.ID)
			return nil
		},
		Version:       "1",
		MayReadStatus: func(request *http.Request) bool { return request.Header.Get("Authorization") == "Bearer operator" },
		now:           func() time.Time { return one.Now },
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, step := range one.Exchanges {
		status, headers, body := exchange(t, server.Listener.Addr().String(), step.Request)
		if status != step.Status {
			t.Errorf("got %d, expected %d", status, step.Status)
		}
		for name, value := range step.Headers {
			if headers[name] != value {
				t.Errorf("got %v, expected %s: %s", headers, name, value)
			}
		}
		for name, value := range step.Body {
			if !reflect.DeepEqual(body[name], value) {
				t.Errorf("got %v, expected %s: %v", body, name, value)
			}
		}
	}
	if !slices.Equal(effects, one.Effects) {
		t.Errorf("got the effects %v, expected %v", effects, one.Effects)
	}
}

func exchange(t *testing.T, address, request string) (int, map[string]string, map[string]any) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	response, err := io.ReadAll(connection)
	if err != nil {
		t.Fatal(err)
	}
	head, content, _ := strings.Cut(string(response), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	status, _ := strconv.Atoi(strings.Split(lines[0]+" ", " ")[1])
	headers, body := map[string]string{}, map[string]any{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		headers[strings.ToLower(name)] = value
	}
	_ = json.Unmarshal([]byte(content), &body)
	return status, headers, body
}
