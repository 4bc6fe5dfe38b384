package recipient

import (
	"encoding/base64"
	"regexp"
	"strings"
)

// The part of Structured Field Values that signatures use. Source: RFC 9651 §4.2, RFC 9421 §4.
const (
	fieldBytesMax  = 8_192
	nameForm       = `[a-z*][a-z0-9_.*-]*`
	stringForm     = `"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`
	tokenForm      = "[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
	valueForm      = `-?[0-9]{1,15}(?:\.[0-9]{1,3})?|` + stringForm + `|\?[01]|:[A-Za-z0-9+/=]*:|` + tokenForm
	parametersForm = `(?:;[ ]*` + nameForm + `(?:=(?:` + valueForm + `))?)*`
	componentForm  = stringForm + parametersForm
	listForm       = `\([ ]*(?:` + componentForm + `(?:[ ]+` + componentForm + `)*)?[ ]*\)`
)

var (
	inputMember = regexp.MustCompile(`^(` + nameForm + `)=((` + listForm + `)(` + parametersForm + `))`)
	bytesMember = regexp.MustCompile(`^(` + nameForm + `)=:([A-Za-z0-9+/]*={0,2}):` + parametersForm)
	commaForm   = regexp.MustCompile(`^[ \t]*,[ \t]*`)
	stringsIn   = regexp.MustCompile(stringForm)
	parameterIn = regexp.MustCompile(`;[ ]*(` + nameForm + `)(?:=(` + valueForm + `))?`)
	escapedForm = regexp.MustCompile(`\\(.)`)
	escaping    = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// signatureInput is one member of Signature-Input. Parameters are as written; text is what @signature-params repeats.
type signatureInput struct {
	label      string
	components []string
	parameters map[string]string
	text       string
}

// signatureInputs is false for a malformed field.
func signatureInputs(field string) ([]signatureInput, bool) {
	members, areMembers := membersOf(field, inputMember)
	inputs := []signatureInput{}
	for _, member := range members {
		input := signatureInput{label: member[1], parameters: map[string]string{}, text: member[2]}
		for _, name := range stringsIn.FindAllString(member[3], -1) {
			input.components = append(input.components, unquoted(name))
		}
		// A component with parameters is none that a request has here, so that its signature does not count.
		if strings.Contains(stringsIn.ReplaceAllString(member[3], ""), ";") {
			input.components = append(input.components, ";")
		}
		for _, parameter := range parameterIn.FindAllStringSubmatch(member[4], -1) {
			input.parameters[parameter[1]] = parameter[2]
		}
		inputs = append(inputs, input)
	}
	return inputs, areMembers
}

// byteSequences returns the bytes of each member of Signature or Content-Digest. It is false for a malformed field.
func byteSequences(field string) (map[string][]byte, bool) {
	members, areMembers := membersOf(field, bytesMember)
	found := map[string][]byte{}
	for _, member := range members {
		// Bytes that are no base64 fit no digest and no key.
		found[member[1]], _ = base64.RawStdEncoding.DecodeString(strings.TrimRight(member[2], "="))
	}
	return found, areMembers
}

// membersOf splits a field; it is false unless commas separate all members and each label is unique.
func membersOf(field string, form *regexp.Regexp) ([][]string, bool) {
	members, labels := [][]string{}, map[string]bool{}
	for len(field) <= fieldBytesMax {
		member := form.FindStringSubmatch(field)
		if member == nil || labels[member[1]] {
			return nil, false
		}
		members, labels[member[1]] = append(members, member), true
		field = field[len(member[0]):]
		if field == "" {
			return members, true
		}
		comma := commaForm.FindString(field)
		if comma == "" {
			return nil, false
		}
		field = field[len(comma):]
	}
	return nil, false
}

func quoted(text string) string {
	return `"` + escaping.Replace(text) + `"`
}

func unquoted(text string) string {
	return escapedForm.ReplaceAllString(text[1:len(text)-1], "$1")
}
