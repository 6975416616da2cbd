package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Flags are what the flags of serve say; the rest of the configuration comes below them.
type Flags struct {
	file string
	Said map[string]string // key → value of a flag that was given
}

// flagValue is one configuration key as a pflag.Value.
type flagValue struct {
	field field
	into  *Flags
}

func (v flagValue) String() string { return "" }
func (v flagValue) Type() string   { return v.field.kind() }
func (v flagValue) Set(s string) error {
	var probe Config
	if err := v.field.set(&probe, s); err != nil {
		return err
	}
	v.into.Said[v.field.key] = s
	return nil
}

// Bind adds --config and one flag a key. --token-file is the root's: it reaches said through the caller.
func (cf *Flags) Bind(f *pflag.FlagSet) {
	cf.Said = map[string]string{}
	f.StringVar(&cf.file, "config", "", "configuration file (env DIVVY_CONFIG)")
	def := Defaults()
	for _, fd := range fields() {
		usage := strings.TrimSuffix(fd.doc, ".")
		if d := fd.get(def); d != "" && d != "false" {
			usage += " (default " + d + ")"
		}
		if fd.key == "token_file" {
			continue
		}
		fl := f.VarPF(flagValue{fd, cf}, fd.flag(), "", usage)
		if fd.kind() == "true/false" {
			fl.NoOptDefVal = "true"
		}
	}
}

// Load resolves flags > environment > file > defaults, and validates the result.
func (cf *Flags) Load(getenv func(string) string) (Config, error) {
	c := Defaults()
	file := cf.file
	if file == "" {
		file = getenv("DIVVY_CONFIG")
	}
	if file != "" {
		src, err := os.ReadFile(file)
		if err != nil {
			return c, err
		}
		if err := c.decode(file, src); err != nil {
			return c, err
		}
	}
	var errs []error
	for _, f := range fields() {
		if s := getenv(f.env()); s != "" {
			if err := f.set(&c, s); err != nil {
				errs = append(errs, fmt.Errorf("environment %s: %w", f.env(), err))
			}
		}
		if s, ok := cf.Said[f.key]; ok {
			errs = append(errs, f.set(&c, s))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// decode reads a divvy.yml over c. Every unknown or repeated key and every bad value is listed with its place.
func (c *Config) decode(name string, src []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(src)))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one document", name)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d:%d: expected key: value lines", name, top.Line, top.Column)
	}
	var errs []error
	seen := map[string]bool{}
	for i := 0; i < len(top.Content); i += 2 {
		k, v := top.Content[i], top.Content[i+1]
		if err := c.decodeKey(k, v, seen); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d:%d: %w", name, k.Line, k.Column, err))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) decodeKey(k, v *yaml.Node, seen map[string]bool) error {
	for _, f := range fields() {
		if f.key != k.Value {
			continue
		}
		if seen[f.key] {
			return fmt.Errorf("%s is given twice", f.key)
		}
		seen[f.key] = true
		if v.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s: expected one value", k.Value)
		}
		return f.set(c, v.Value)
	}
	if now := gone[k.Value]; now != "" {
		return fmt.Errorf("unknown key %q: %s is for both APIs, see docs/from-panda.md", k.Value, now)
	}
	var keys []string
	for _, f := range fields() {
		keys = append(keys, f.key)
	}
	if near := strict.Closest(strings.ReplaceAll(k.Value, "-", "_"), keys); near != "" {
		return fmt.Errorf("unknown key %q; did you mean %q?", k.Value, near)
	}
	return fmt.Errorf("unknown key %q", k.Value)
}

// gone are keys of 0.11 and before, with those that are for PanDA's API too.
var gone = map[string]string{"panda_cert": "tls_cert", "panda_key": "tls_key", "panda_client_ca": "tls_client_ca", "panda_users": "tls_roles", "panda_tokens": "token_file",
	"panda_issuers": "issuers"}
