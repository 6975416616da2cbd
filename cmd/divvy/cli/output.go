package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Print writes v as json or yaml, or calls table for people.
func (c *CLI) Print(v any, table func(w io.Writer)) error {
	switch c.Output {
	case "json":
		return WriteJSON(c.Out, v)
	case "yaml":
		return WriteYAML(c.Out, v)
	}
	table(c.Out)
	return nil
}

// WriteJSON prints a result for programs.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// WriteYAML goes through JSON, so that names and order of the fields are those of the API.
func WriteYAML(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return fmt.Errorf("yaml: %w", err)
	}
	block(&doc)
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return err
	}
	return enc.Close()
}

// block turns the flow style of JSON into the block style that people read; empty lists stay [] and {}.
func block(n *yaml.Node) {
	if len(n.Content) > 0 || n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c)
	}
}
