// Says of each line of standard input, a JSON string, whether Prometheus would take it as an expression.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"regexp/syntax"
)

const lineBytesMax = 1 << 20

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, lineBytesMax), lineBytesMax)
	for lines.Scan() {
		var expression string
		if err := json.Unmarshal(lines.Bytes(), &expression); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_, alone := syntax.Parse(expression, syntax.Perl|syntax.DotNL)
		_, anchored := regexp.Compile("^(?s:" + expression + ")$")
		fmt.Println(alone == nil && anchored == nil)
	}
}
