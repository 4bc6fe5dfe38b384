// Reads a JSON list of JSON texts and prints what each text's event.data.values holds; see json-parsers.ts.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
)

type document struct {
	Event struct {
		Data struct {
			Values []any `json:"values"`
		} `json:"data"`
	} `json:"event"`
}

func told(value any) (string, error) {
	number, isNumber := value.(json.Number)
	if !isNumber {
		return "text " + hex.EncodeToString([]byte(value.(string))), nil
	}
	if integer, isInteger := new(big.Int).SetString(number.String(), 10); isInteger {
		return "integer " + integer.String(), nil
	}
	double, err := strconv.ParseFloat(number.String(), 64)
	return fmt.Sprintf("double %016x", math.Float64bits(double)), err
}

func valuesOf(text string) []string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var parsed document
	if decoder.Decode(&parsed) != nil {
		return []string{"refused"}
	}
	lines := []string{}
	for _, value := range parsed.Event.Data.Values {
		line, err := told(value)
		if err != nil {
			return []string{"refused"}
		}
		lines = append(lines, line)
	}
	return lines
}

func main() {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		panic(err)
	}
	all := [][]string{}
	for _, text := range texts {
		all = append(all, valuesOf(text))
	}
	_ = json.NewEncoder(os.Stdout).Encode(all)
}
