// Package openapi holds the description of the service's interface: an OpenAPI 3.1 document,
// written by hand in openapi.yaml.
//
// JSON is the document for programs; Read parses it for the page for people. Members keep their
// order. Parts that occur more than once are written once, and inserted where YAML aliases name
// them: a merge key (<<) adds missing members, and an alias to a list inside a list adds its items.
//
// The package knows no other part of the service. The tests of internal/serve check that the
// document is true.
package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

//go:embed openapi.yaml
var source []byte

// written is the public address that stands in the source.
const written = "http://127.0.0.1:8080"

// JSON is the document for a service whose public address is base, without a slash at its end. The caller may keep the bytes.
func JSON(base string) []byte {
	quoted, err := jsontext.AppendQuote(nil, base)
	if err != nil {
		quoted = []byte(`"` + written + `"`) // an address that is no text is none
	}
	return bytes.ReplaceAll(document(), []byte(`"url":"`+written), append([]byte(`"url":`), quoted[:len(quoted)-1]...))
}

// document is the document as it is written. It is made when it is first asked for.
var document = sync.OnceValue(func() []byte {
	text, err := convert(source)
	if err != nil {
		panic(err) // a part of the program
	}
	return text
})

// convert makes JSON of YAML.
func convert(source []byte) ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(source, &root); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if err := encode(enc, &root); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// unserved begins the names of members that are there for aliases alone.
const unserved = "x-answers"

func encode(enc *jsontext.Encoder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return encode(enc, n.Content[0])
	case yaml.AliasNode:
		return encode(enc, n.Alias)
	case yaml.MappingNode:
		list, err := membersOf(n)
		if err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.BeginObject); err != nil {
			return err
		}
		for _, m := range list {
			if m.name == unserved {
				continue
			}
			if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
				return err
			}
			if err := encode(enc, m.value); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndObject)
	case yaml.SequenceNode:
		if err := enc.WriteToken(jsontext.BeginArray); err != nil {
			return err
		}
		for _, item := range itemsOf(n) {
			if err := encode(enc, item); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndArray)
	case yaml.ScalarNode:
		switch n.ShortTag() {
		case "!!int", "!!float", "!!bool":
			return enc.WriteValue(jsontext.Value(n.Value))
		case "!!null":
			return enc.WriteToken(jsontext.Null)
		default:
			return enc.WriteToken(jsontext.String(n.Value))
		}
	}
	return fmt.Errorf("line %d: what is this?", n.Line)
}

// itemsOf are the items of a list, and those of the lists that aliases in it name.
func itemsOf(n *yaml.Node) (items []*yaml.Node) {
	for _, item := range n.Content {
		if item.Kind == yaml.AliasNode && item.Alias.Kind == yaml.SequenceNode {
			items = append(items, itemsOf(item.Alias)...)
			continue
		}
		items = append(items, item)
	}
	return items
}

// member is a member of a mapping.
type member struct {
	name  string
	value *yaml.Node
}

var status = regexp.MustCompile(`^[1-5]([0-9][0-9]|XX)$`)

// membersOf are the members of a mapping, and those that its merge keys add; answers by their status.
func membersOf(n *yaml.Node) (list []member, err error) {
	var added []member
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Value != "<<" {
			list = append(list, member{key.Value, value})
			continue
		}
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if value.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("line %d: what is merged must be a mapping", key.Line)
		}
		more, err := membersOf(value)
		if err != nil {
			return nil, err
		}
		added = append(added, more...)
	}
	for _, m := range added {
		if !slices.ContainsFunc(list, func(have member) bool { return have.name == m.name }) {
			list = append(list, m)
		}
	}
	if !slices.ContainsFunc(list, func(m member) bool { return !status.MatchString(m.name) }) {
		slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	}
	return list, nil
}
