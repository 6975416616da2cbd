package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is one key of the configuration.
type field struct {
	key, doc   string // the key as in divvy.yml
	def, least string // as they would be written there; "" = the zero value, any
	at         []int  // index in the struct
}

func (f field) env() string  { return "DIVVY_" + strings.ToUpper(f.key) }
func (f field) flag() string { return strings.ReplaceAll(f.key, "_", "-") }

// fields lists the keys in the order of the struct and of those in it.
func fields() (fs []field) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		fs = append(fs, fieldsOf(f, nil)...)
	}
	return fs
}

func fieldsOf(f reflect.StructField, in []int) (fs []field) {
	at := append(slices.Clone(in), f.Index...)
	if key, ok := f.Tag.Lookup("yaml"); ok {
		return []field{{key: key, doc: f.Tag.Get("doc"), def: f.Tag.Get("default"), least: f.Tag.Get("least"), at: at}}
	}
	for i := range f.Type.NumField() {
		fs = append(fs, fieldsOf(f.Type.Field(i), at)...)
	}
	return fs
}

// check says whether the value is below the least.
func (f field) check(c Config) error {
	if f.least == "" {
		return nil
	}
	var least Config
	if err := f.set(&least, f.least); err != nil {
		return err
	}
	if v := reflect.ValueOf(c).FieldByIndex(f.at); v.Int() < reflect.ValueOf(least).FieldByIndex(f.at).Int() {
		return fmt.Errorf("%s: %v is less than %s", f.key, v.Interface(), f.least)
	}
	return nil
}

func (f field) set(c *Config, s string) error {
	v := reflect.ValueOf(c).Elem().FieldByIndex(f.at)
	switch v.Interface().(type) {
	case string:
		v.SetString(s)
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%s: %q is not a whole number", f.key, s)
		}
		v.SetInt(int64(n))
	case bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("%s: %q is neither true nor false", f.key, s)
		}
		v.SetBool(b)
	case time.Duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%s: %q is not a time such as 500ms, 60s or 2h", f.key, s)
		}
		v.SetInt(int64(d))
	default:
		panic("config field of unknown type: " + f.key)
	}
	return nil
}

// get is the value as it would be written in divvy.yml.
func (f field) get(c Config) string {
	switch v := reflect.ValueOf(c).FieldByIndex(f.at).Interface().(type) {
	case time.Duration:
		return ShortDuration(v)
	default:
		return fmt.Sprint(v)
	}
}

// kind names the type for people.
func (f field) kind() string {
	switch reflect.ValueOf(Config{}).FieldByIndex(f.at).Interface().(type) {
	case int:
		return "number"
	case bool:
		return "true/false"
	case time.Duration:
		return "time"
	}
	return "text"
}

// ShortDuration is d without the zeros that time.Duration prints: 1m, not 1m0s.
func ShortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
