// Program cloudevents-client sends and reads CloudEvents with the SDK for Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// Sends an event in both modes to a server, or reads the body of a delivery.
//
//	main send URL MODE ID SUBJECT
//	main read BODY
func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if args[0] == "read" {
		return read(args[1])
	}
	return send(args[1], args[2], args[3], args[4])
}

func send(url, mode, id, subject string) error {
	sent := cloudevents.NewEvent()
	sent.SetID(id)
	sent.SetSource("/go")
	sent.SetType("payout.processed")
	sent.SetTime(time.Date(2026, 1, 31, 13, 0, 0, 123456789, time.FixedZone("", 3600)))
	sent.SetSubject(subject)
	sent.SetExtension("version", "2026-01-01")
	if err := sent.SetData(cloudevents.ApplicationJSON, map[string]int{"amount": 5}); err != nil {
		return err
	}
	ctx := cloudevents.ContextWithTarget(context.Background(), url)
	if mode == "structured" {
		ctx = binding.WithForceStructured(ctx)
	} else {
		ctx = binding.WithForceBinary(ctx)
	}
	client, err := cloudevents.NewClientHTTP(cloudevents.WithHeader("Authorization", "Bearer sdk"))
	if err != nil {
		return err
	}
	result := client.Send(ctx, sent)
	var response *cehttp.Result
	if !cloudevents.ResultAs(result, &response) {
		return result
	}
	fmt.Println(response.StatusCode)
	return nil
}

// Prints a delivery as its SDK reads it.
func read(body string) error {
	var got event.Event
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		return err
	}
	if err := got.Validate(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"id": got.ID(), "source": got.Source(), "type": got.Type(), "time": got.Time(), "subject": got.Subject(),
		"extensions": got.Extensions(), "data": string(got.Data()),
	})
}
