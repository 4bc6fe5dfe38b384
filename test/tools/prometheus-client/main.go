// Command prometheus-client asks a Prometheus API with client_golang, the library of the Prometheus project for Go:
//
//	prometheus-client URL TOKEN METHOD [ARGUMENT...]
//
// It writes one object of JSON: what the library returned, its warnings, and its error as a user of the library prints it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

type outcome struct {
	Value    any         `json:"value,omitempty"`
	Warnings v1.Warnings `json:"warnings,omitempty"`
	Infos    v1.Infos    `json:"infos,omitempty"`
	Error    string      `json:"error,omitempty"`
	Kind     string      `json:"kind,omitempty"`
	Detail   string      `json:"detail,omitempty"`
}

type bearer string

func (token bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	own.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(own)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "prometheus-client:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: prometheus-client URL TOKEN METHOD [ARGUMENT...]")
	}
	client, err := api.NewClient(api.Config{Address: args[0], RoundTripper: bearer(args[1])})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return json.NewEncoder(os.Stdout).Encode(ask(ctx, v1.NewAPI(client), args[2], args[3:]))
}

func ask(ctx context.Context, from v1.API, method string, args []string) outcome {
	var none time.Time
	switch method {
	case "query":
		value, warnings, infos, err := from.Query(ctx, args[0], seconds(args, 1))
		return of(typed(value), warnings, infos, err)
	case "query_range":
		step := time.Duration(number(args, 3) * float64(time.Second))
		over := v1.Range{Start: seconds(args, 1), End: seconds(args, 2), Step: step}
		value, warnings, infos, err := from.QueryRange(ctx, args[0], over)
		return of(typed(value), warnings, infos, err)
	case "label_names":
		value, warnings, infos, err := from.LabelNames(ctx, args, none, none)
		return of(value, warnings, infos, err)
	case "label_values":
		value, warnings, infos, err := from.LabelValues(ctx, args[0], args[1:], none, none)
		return of(value, warnings, infos, err)
	case "series":
		value, warnings, infos, err := from.Series(ctx, args, time.Now().Add(-time.Hour), time.Now())
		return of(value, warnings, infos, err)
	case "metadata":
		value, err := from.Metadata(ctx, args[0], "")
		return of(value, nil, nil, err)
	case "buildinfo":
		value, err := from.Buildinfo(ctx)
		return of(value, nil, nil, err)
	case "rules":
		value, err := from.Rules(ctx, nil)
		return of(value, nil, nil, err)
	case "exemplars":
		value, err := from.QueryExemplars(ctx, args[0], time.Now().Add(-time.Hour), time.Now())
		return of(value, nil, nil, err)
	case "format_query":
		value, err := from.FormatQuery(ctx, args[0])
		return of(value, nil, nil, err)
	default:
		return outcome{Error: method + " is not a method of this program"}
	}
}

func of(value any, warnings v1.Warnings, infos v1.Infos, err error) outcome {
	if err == nil {
		return outcome{Value: value, Warnings: warnings, Infos: infos}
	}
	failed := outcome{Warnings: warnings, Error: err.Error()}
	var refused *v1.Error
	if errors.As(err, &refused) {
		failed.Kind, failed.Detail = string(refused.Type), refused.Detail
	}
	return failed
}

// typed puts the type beside a value, whose JSON does not tell it.
func typed(value model.Value) any {
	if value == nil {
		return nil
	}
	return map[string]any{"type": value.Type().String(), "result": value}
}

func seconds(args []string, index int) time.Time {
	return time.UnixMilli(int64(number(args, index) * 1000))
}

func number(args []string, index int) float64 {
	value, err := strconv.ParseFloat(args[index], 64)
	if err != nil {
		panic(err)
	}
	return value
}
