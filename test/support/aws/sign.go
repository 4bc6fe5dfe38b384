// Signs requests with the SDK of AWS: one JSON object per argument, one Authorization header per line.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

type request struct {
	Method, URL, ContentType, Body, Time, Region, Service, ID, Secret, Token string
}

func main() {
	for _, text := range os.Args[1:] {
		var one request
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			panic(err)
		}
		fmt.Println(sign(one))
	}
}

func sign(one request) string {
	sent, err := http.NewRequest(one.Method, one.URL, strings.NewReader(one.Body))
	if err != nil {
		panic(err)
	}
	// The header of the length is not among those that are compared.
	sent.ContentLength = 0
	if one.ContentType != "" {
		sent.Header.Set("Content-Type", one.ContentType)
	}
	at, err := time.Parse("20060102T150405Z", one.Time)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(one.Body))
	keys := aws.Credentials{AccessKeyID: one.ID, SecretAccessKey: one.Secret, SessionToken: one.Token}
	err = v4.NewSigner().SignHTTP(context.Background(), keys, sent, hex.EncodeToString(sum[:]), one.Service, one.Region, at)
	if err != nil {
		panic(err)
	}
	return sent.Header.Get("Authorization")
}
