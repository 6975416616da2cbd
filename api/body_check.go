package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
)

// checkBodies checks the JSON body of a request against the schema of its route before huma reads it. huma decodes
// the whole body before it checks and reports faults without bound: 8 MB could make a million.
func (d *document) checkBodies(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		next(ctx)
		return
	}
	buf := edge.Buffers.Get().(*bytes.Buffer)
	defer edge.Release(buf)
	if err := d.checkBody(ctx, op, buf); err != nil {
		_, w := humachi.Unwrap(ctx)
		d.edge.Fail(w, err)
		return
	}
	next(read{layer: ctx, body: buf.Bytes()})
}

func (d *document) checkBody(ctx huma.Context, op *huma.Operation, buf *bytes.Buffer) error {
	if kind, _, _ := strings.Cut(ctx.Header("Content-Type"), ";"); kind != "" && !isJSON(strings.TrimSpace(kind)) {
		return problem.New(problem.MediaType, "")
	}
	_ = ctx.SetReadDeadline(time.Now().Add(op.BodyReadTimeout))
	if _, err := buf.ReadFrom(io.LimitReader(ctx.BodyReader(), op.MaxBodyBytes)); err != nil {
		return problem.OfBody(err)
	}
	if int64(buf.Len()) == op.MaxBodyBytes {
		return problem.OfBody(&http.MaxBytesError{Limit: op.MaxBodyBytes})
	}
	if buf.Len() == 0 {
		if op.RequestBody.Required {
			return problem.New(problem.NoBody, "")
		}
		return nil
	}
	return checkJSON(d.huma.OpenAPI().Components.Schemas, op.RequestBody.Content["application/json"].Schema, buf.Bytes())
}

func isJSON(kind string) bool {
	return strings.EqualFold(kind, "application/json") || strings.HasSuffix(strings.ToLower(kind), "+json")
}

// read is a request whose body was already read.
type read struct {
	layer
	body []byte
}

// layer is huma's context under another name, since a type cannot have a method and a field of one name.
type layer = huma.Context

// BodyReader returns the body again.
func (r read) BodyReader() io.Reader { return bytes.NewReader(r.body) }

// Unwrap is what huma expects of a context that wraps another one.
func (r read) Unwrap() huma.Context { return r.layer }

// checkJSON returns the faults of a text by its schema, mostErrors at the most. A key given twice is a fault too:
// encoding/json would silently use the last value.
func checkJSON(schemas huma.Registry, schema *huma.Schema, text []byte) error {
	if !json.Valid(text) {
		return problem.OfJSON(text, json.Unmarshal(text, new(json.RawMessage)))
	}
	c := bodyCheck{in: json.NewDecoder(bytes.NewReader(text)), schemas: schemas}
	c.in.UseNumber()
	if err := c.value(schema, false); err != nil && !errors.Is(err, errEnough) {
		return problem.OfJSON(text, err)
	}
	return c.found.Problem()
}

// bodyCheck reads a text value by value. It needs no more memory than the deepest value, and stops after enough
// faults.
type bodyCheck struct {
	in      *json.Decoder
	schemas huma.Registry
	path    []step
	found   problem.Faults
}

// step is a key of an object, or a place in a list.
type step struct {
	key   string
	index int // −1: a key
}

// errEnough ends the check early.
var errEnough = errors.New("enough is wrong")

// anything is the schema of a value that is only searched for keys given twice.
var anything = &huma.Schema{}

func (c *bodyCheck) add(message string, value any) error {
	at := place(c.path)
	c.found.Add(at, message, problem.Echoed(at, value))
	if len(c.found) >= problem.Most {
		return errEnough
	}
	return nil
}

// value checks one value. An optional one may be null.
func (c *bodyCheck) value(s *huma.Schema, optional bool) error {
	token, err := c.in.Token()
	if err != nil || token == nil && optional {
		return err
	}
	s = c.schema(s)
	if s.OneOf != nil {
		if s = c.fitting(s.OneOf, token); s == anything {
			err = c.add(validation.MsgExpectedMatchExactlyOneSchema, nil)
		}
	}
	switch d, _ := token.(json.Delim); {
	case err != nil:
		return err
	case d == 0:
		return c.scalar(s, token)
	case d == '{' && s.Type != "" && s.Type != huma.TypeObject, d == '[' && s.Type != "" && s.Type != huma.TypeArray:
		if err := c.scalar(s, token); err != nil {
			return err
		}
		s = anything
		fallthrough
	default:
		if d == '[' {
			return c.list(s)
		}
		return c.object(s)
	}
}

// schema is what s refers to.
func (c *bodyCheck) schema(s *huma.Schema) *huma.Schema {
	for s.Ref != "" {
		s = c.schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// fitting returns the schema for values such as this one, or anything if no schema fits.
func (c *bodyCheck) fitting(of []*huma.Schema, token json.Token) *huma.Schema {
	kind := ""
	switch v := token.(type) {
	case string:
		kind = huma.TypeString
	case json.Delim:
		kind = map[json.Delim]string{'{': huma.TypeObject, '[': huma.TypeArray}[v]
	}
	for _, s := range of {
		if s = c.schema(s); s.Type == kind {
			return s
		}
	}
	return anything
}

func (c *bodyCheck) scalar(s *huma.Schema, token json.Token) error {
	var v any = token
	if n, ok := token.(json.Number); ok {
		f, err := n.Float64()
		if err != nil {
			return c.add("expected a number that a float64 holds", nil)
		}
		v = f
	}
	if d, ok := token.(json.Delim); ok { // a list or an object, where neither is allowed
		v = map[json.Delim]any{'{': map[string]any(nil), '[': []any(nil)}[d]
	}
	var wrong huma.ValidateResult
	huma.Validate(c.schemas, s, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, v, &wrong)
	for _, w := range wrong.Errors {
		var detail *huma.ErrorDetail
		if errors.As(w, &detail) {
			if err := c.add(detail.Message, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *bodyCheck) object(s *huma.Schema) error {
	once, given := map[string]bool{}, map[string]bool{}
	for c.in.More() {
		token, err := c.in.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if once[key] {
			c.found.Add("body", fmt.Sprintf("key %.100q is given twice in %s; say it once", key, place(c.path)), nil)
			return errEnough // the rest cannot be checked, since either value may be meant
		}
		if once[key] = true; s.MaxProperties != nil && len(once) > *s.MaxProperties {
			_ = c.add(fmt.Sprintf(validation.MsgExpectedMaxProperties, *s.MaxProperties), nil)
			return errEnough
		}
		c.path = append(c.path, step{key, -1})
		name, of := property(s, key)
		given[name] = true
		if of == nil {
			of, err = anything, c.add(validation.MsgUnexpectedProperty, nil)
		}
		if err == nil {
			err = c.value(of, !slices.Contains(s.Required, name) || c.schema(of).Nullable)
		}
		if err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
	}
	for _, name := range s.Required {
		if !given[name] {
			if err := c.add(fmt.Sprintf(validation.MsgExpectedRequiredProperty, name), nil); err != nil {
				return err
			}
		}
	}
	_, err := c.in.Token() // }
	return err
}

// property returns the schema of a key, and the key's proper name; nil: no such key. Case does not matter, as in
// encoding/json.
func property(s *huma.Schema, key string) (string, *huma.Schema) {
	if p := s.Properties[key]; p != nil {
		return key, p
	}
	for name, p := range s.Properties {
		if strings.EqualFold(name, key) {
			return name, p
		}
	}
	switch more := s.AdditionalProperties.(type) {
	case *huma.Schema:
		return key, more
	case bool:
		if !more {
			return key, nil
		}
	}
	return key, anything
}

func (c *bodyCheck) list(s *huma.Schema) error {
	of := s.Items
	if of == nil {
		of = anything
	}
	n := 0
	for ; c.in.More(); n++ {
		if s.MaxItems != nil && n == *s.MaxItems {
			_ = c.add(fmt.Sprintf(validation.MsgExpectedMaxItems, *s.MaxItems), nil)
			return errEnough
		}
		c.path = append(c.path, step{"", n})
		if err := c.value(of, false); err != nil {
			return err
		}
		c.path = c.path[:len(c.path)-1]
	}
	if s.MinItems != nil && n < *s.MinItems {
		if err := c.add(fmt.Sprintf(validation.MsgExpectedMinItems, *s.MinItems), nil); err != nil {
			return err
		}
	}
	_, err := c.in.Token() // ]
	return err
}

// place returns where in the body the end of the path is.
func place(path []step) string {
	b := strings.Builder{}
	b.WriteString("body")
	for _, s := range path {
		if s.index < 0 {
			fmt.Fprintf(&b, ".%.100s", s.key)
		} else {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}
