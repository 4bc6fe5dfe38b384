// A small endpoint that logs each event once. Usage: HELIOGRAPH_KEY_FILE=FILE go run ./endpoint [ADDRESS]
//
// A key file that ends in .json is the sender's set of public keys. HELIOGRAPH_SCHEME is the scheme, by default HmacV1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	recipient "heliograph-recipient"
)

const eventsMax = 1_000_000

func main() {
	address := "127.0.0.1:8091"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{
		Handler: &recipient.Recipient{
			Scheme:  scheme(),
			Keys:    keys,
			Store:   recipient.NewMemoryStore(eventsMax),
			Handle:  book,
			Version: "1",
		},
		ReadTimeout: 30 * time.Second,
	}
	log.Fatal(server.Serve(listener))
}

func scheme() recipient.Scheme {
	if name := os.Getenv("HELIOGRAPH_SCHEME"); name != "" {
		return recipient.Scheme(name)
	}
	return recipient.HmacV1
}

// keys reads the files for each delivery, so that a rotation needs no restart.
func keys() []recipient.VerificationKey {
	found := []recipient.VerificationKey{}
	for _, name := range strings.Split(os.Getenv("HELIOGRAPH_KEY_FILE"), ",") {
		more, err := keysIn(name)
		if err != nil {
			log.Print(err)
		}
		found = append(found, more...)
	}
	return found
}

func keysIn(name string) ([]recipient.VerificationKey, error) {
	written, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".json") {
		return recipient.PublicKeys(written)
	}
	shared, err := recipient.SharedKey(written)
	if err != nil {
		return nil, err
	}
	return []recipient.VerificationKey{{ID: name, Shared: shared}}, nil
}

func book(_ context.Context, event recipient.Event) error {
	// A test event, or a type that this endpoint does not know: 200, and no effect.
	if event.Type != "payout.processed" {
		return nil
	}
	var payout struct {
		ID string `json:"payout_id"`
	}
	if json.Unmarshal(event.Data, &payout) != nil || payout.ID == "" {
		return &recipient.Refusal{Status: 422, Code: "invalid_state", Description: "A payout has a payout_id"}
	}
	log.Printf("booked %s of %s", payout.ID, event.ID)
	return nil
}
