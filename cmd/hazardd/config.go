package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"

	"github.com/hazardd/hazardd/internal/hazard/query"
)

// configPlaces are the default paths of the configuration file, in order.
var configPlaces = []string{"hazardd.yaml", "/etc/hazardd/hazardd.yaml"}

// maxConfig bounds the size of the configuration file, in bytes. A file with all settings has a few
// hundred lines.
const maxConfig = 1 << 20

// configFile is the configuration file: settings by key. It provides the value of a flag that
// neither the command line nor the environment sets.
type configFile struct {
	loaded bool
	path   string
	values map[string]configValue
	// last is the key that was resolved last. If parsing its value then fails, that key is at
	// fault.
	last string
	// skip holds keys that are read as if the file did not set them.
	skip map[string]bool
}

type configValue struct {
	items []string // the items of a list; one item for a plain value
	list  bool
	line  int
	block string // block that the setting is in, or ""
}

// load finds and reads the file. It runs once per part of the command line, after the part that may
// hold --config.
func (c *configFile) load(ctx *kong.Context) error {
	if c.loaded {
		return nil
	}
	c.loaded = true
	if node := ctx.Selected(); node != nil && withoutFile(node) {
		return nil
	}
	text, err := c.read(ctx)
	if err != nil || c.path == "" {
		return err
	}
	blocks := map[string]string{} // by setting
	for _, s := range settings(ctx.Model) {
		blocks[s.flag.Name] = s.group.key
	}
	if c.values, err = parseConfig(text, slices.Collect(maps.Values(blocks))); err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	keys := map[string]bool{}
	err = kong.Visit(ctx.Model.Node, func(v kong.Visitable, next kong.Next) error {
		if node, ok := v.(*kong.Node); ok {
			for _, f := range node.Flags {
				keys[configKey(f)] = true
			}
		}
		return next(nil)
	})
	if err != nil {
		return err
	}
	delete(keys, "")
	delete(keys, "config") // one file cannot name another: it would be unclear which of them applies
	for key, v := range c.values {
		if !keys[key] {
			return fmt.Errorf("%s:%d: %q is not a setting%s; hazardd help settings lists them", c.path, v.line, key, meant(key, keys))
		}
		if v.block != "" && blocks[key] != v.block {
			return fmt.Errorf("%s:%d: %s is not in the block %s, expected it %s", c.path, v.line, key, v.block, placeInFile(blocks[key]))
		}
	}
	ctx.AddResolver(kong.ResolverFunc(c.resolve))
	return nil
}

// placeInFile says where a setting of a block may be.
func placeInFile(block string) string {
	if block == "" {
		return "outside of blocks"
	}
	return "in the block " + block + ", or outside of blocks"
}

// withoutFile reports whether a command does not read the configuration file, so that it works
// although the file is wrong.
func withoutFile(node *kong.Node) bool {
	command, _, _ := strings.Cut(node.Path(), " ")
	return slices.Contains([]string{"config", "help", "version", "completion", "man"}, command)
}

// read returns the text of the file. If there is no file, path stays empty.
func (c *configFile) read(ctx *kong.Context) ([]byte, error) {
	places := configPlaces
	for _, f := range ctx.Model.Flags {
		if f.Name != "config" {
			continue
		}
		if named, _ := ctx.FlagValue(f).(string); named != "" {
			places = []string{named}
		}
	}
	for _, place := range places {
		info, err := os.Stat(place)
		if err != nil && len(places) > 1 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
		if info.Size() > maxConfig {
			return nil, fmt.Errorf("configuration file: %s has %d bytes; the limit is %d", place, info.Size(), maxConfig)
		}
		c.path = place
		text, err := os.ReadFile(place)
		if err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
		return text, nil
	}
	return nil, nil
}

// resolve returns the value of a flag, or nil if the file does not set it.
func (c *configFile) resolve(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
	v, ok := c.values[configKey(f)]
	if !ok || c.skip[configKey(f)] {
		return nil, nil
	}
	for _, env := range f.Tag.Envs {
		if _, set := os.LookupEnv(env); set {
			return nil, nil
		}
	}
	c.last = configKey(f)
	if !v.list {
		return v.items[0], nil
	}
	separator := f.Tag.Sep
	if separator <= 0 { // the flag takes one value
		separator = ','
	}
	return kong.JoinEscaped(v.items, separator), nil
}

// blame adds the file and line to err, if it is about a value that came from the file.
func (c *configFile) blame(err error) error {
	if v, ok := c.values[c.last]; ok && strings.HasPrefix(err.Error(), "--") {
		return fmt.Errorf("%s:%d: %w", c.path, v.line, err)
	}
	return err
}

// configKey returns the key of a flag in the file, or "" if it has none.
func configKey(f *kong.Flag) string {
	if len(f.Tag.Envs) == 0 {
		return ""
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(f.Tag.Envs[0], variablePrefix)), "_", "-")
}

// parseConfig parses a YAML mapping. Each value is a scalar, a list of scalars and flat mappings, or
// a block of settings. A mapping in a list is returned as key=value pairs, as the flag takes them.
func parseConfig(text []byte, blocks []string) (map[string]configValue, error) {
	if onlyComments(string(text)) { // the library finds no document in such a file; for people it is a file without settings
		return nil, nil
	}
	var doc yaml.Node
	if err := yaml.Load(text, &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("expected lines of the form \"setting: value\"")
	}
	values := map[string]configValue{}
	members := doc.Content[0].Content
	for i := 0; i+1 < len(members); i += 2 {
		key, value := members[i], members[i+1]
		if !slices.Contains(blocks, key.Value) {
			if err := addSetting(values, "", key, value); err != nil {
				return nil, err
			}
			continue
		}
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" { // all of its lines are comments
			continue
		}
		if value.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("line %d: %s is a block, expected lines of the form \"  setting: value\" below it", key.Line, key.Value)
		}
		for j := 0; j+1 < len(value.Content); j += 2 {
			if err := addSetting(values, key.Value, value.Content[j], value.Content[j+1]); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// addSetting adds one line of the file to values.
func addSetting(values map[string]configValue, block string, key, value *yaml.Node) error {
	if first, again := values[key.Value]; again {
		return fmt.Errorf("line %d: %s is already set in line %d", key.Line, key.Value, first.line)
	}
	v, err := readConfigValue(value)
	if err != nil {
		return fmt.Errorf("line %d: %s: %w", key.Line, key.Value, err)
	}
	v.line, v.block = key.Line, block
	values[key.Value] = v
	return nil
}

func readConfigValue(n *yaml.Node) (configValue, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.SequenceNode {
		text, err := plainText(n)
		return configValue{items: []string{text}}, err
	}
	v := configValue{list: true}
	for _, item := range n.Content {
		text, err := itemText(item)
		if err != nil {
			return v, err
		}
		v.items = append(v.items, text)
	}
	return v, nil
}

func plainText(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", errors.New("expected a value or a list of values")
	}
	return n.Value, nil
}

// itemText returns the text of a list item: a plain value, or the key=value pairs of a mapping.
func itemText(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return plainText(n)
	}
	var pairs []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		v, err := readConfigValue(n.Content[i+1])
		if err != nil {
			return "", fmt.Errorf("%s: %w", n.Content[i].Value, err)
		}
		pairs = append(pairs, n.Content[i].Value+"="+strconv.Quote(strings.Join(v.items, ",")))
	}
	return strings.Join(pairs, " "), nil
}

func onlyComments(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// meant returns the clause "did you mean …" with the closest known key, or "".
func meant(key string, known map[string]bool) string {
	if near := query.NearestWord(key, slices.Collect(maps.Keys(known))); near != "" {
		return fmt.Sprintf(", did you mean %s?", near)
	}
	return ""
}
