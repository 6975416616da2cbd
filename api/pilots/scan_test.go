package pilots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/mutate"
)

// agree holds a hand-written reader against encoding/json: what it takes, encoding/json takes and reads the same.
func agree[T any](t *testing.T, body []byte, read func([]byte, *T) bool) (taken bool) {
	t.Helper()
	var got, want T
	if !read(body, &got) {
		return false
	}
	if err := json.Unmarshal(body, &want); err != nil {
		t.Errorf("taken, but encoding/json says %v\n%q", err, body)
	} else if !reflect.DeepEqual(want, got) {
		t.Errorf("read otherwise than by encoding/json (-) by hand (+)\n%q\n%s", body, cmp.Diff(want, got))
	}
	return true
}

func agreeAll(t *testing.T, body []byte) (taken bool) {
	t.Helper()
	return agree(t, body, readPull) || agree(t, body, readRenew) || agree(t, body, readFinish)
}

const (
	fullPull = `{"queue":"CERN","pilot":"p1","node":"n","devices":["gpu0","gpu1"],"slot":{"cores":8,"memory_mb":1,"disk_mb":1,"walltime_s":1,` +
		`"labels":{"os":"el9","a":""}},"max":4,"wait_s":0.5,"request_id":"r","only":{"labels":["a","b"],"task":7,"user":"u"}}`
	fullRenew  = `{"pilot":"p","leases":[{"lease":"L","state":"running","usage":{"cpu_s":1.5,"memory_mb":7},"report":{"a":[1]}},{"lease":"M","report":null},{},null]}`
	fullFinish = `{"pilot":"p","results":[{"lease":"L","outcome":"failed","exit_code":-1,"message":"m","usage":{"cpu_s":1,"memory_mb":7},` +
		`"outputs":{"a":[1,{"b":"}"}],"\n":"\"]"},"log_tail":"a\tb\n\"ü\\","report":{"b":"x"}},{"exit_code":null,"outputs":null},{"exit_code":0,"outputs":{}}]}`
)

// Every change of a byte, every cut and every doubled field of good requests: taken only when encoding/json takes it.
func TestReadersAgreeWithEncodingJSON(t *testing.T) {
	for _, good := range []string{fullPull, fullRenew, fullFinish} {
		if !agreeAll(t, []byte(good)) {
			t.Errorf("not read by hand: %s", good)
		}
		for i := range good {
			agreeAll(t, []byte(good[:i]))
			for _, c := range []string{"", "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e5", "n", "null", " ", "\x00", "\x1f", "\xff", "ü", `\u0041`, `\ud83d`, "X"} {
				agreeAll(t, []byte(good[:i]+c+good[i+1:]))
				agreeAll(t, []byte(good[:i]+c+good[i:]))
			}
		}
		for _, body := range append(mutate.JSON(good), doubled(good)...) {
			agreeAll(t, []byte(body))
		}
	}
}

// doubled has each field of an object once more, with another value.
func doubled(good string) (out []string) {
	for _, field := range strings.Split(strings.NewReplacer("{", ",", "[", ",").Replace(good), ",") {
		key, _, ok := strings.Cut(field, ":")
		if !ok {
			continue
		}
		for _, value := range []string{"null", `"x"`, "7", "[]", "{}", `[{"lease":"Z"}]`, `{"z":"y"}`} {
			out = append(out, strings.Replace(good, key+":", key+":"+value+","+key+":", 1))
		}
	}
	return out
}

// What real pilots send is read by hand: the other way is three times as slow.
func TestRequestsOfPilotsAreReadByHand(t *testing.T) {
	code := 3
	for _, v := range []any{
		dispatcher.PullRequest{Queue: "q", Pilot: "p"},
		dispatcher.PullRequest{Queue: "q", Pilot: "Zoë", Devices: []string{}, Slot: job.Slot{Cores: 8, Labels: map[string]string{"a": "b"}}, WaitS: 20},
		dispatcher.RenewRequest{Pilot: "p", Leases: []dispatcher.Renewal{{Lease: "L", State: dispatcher.Running, Usage: dispatcher.Usage{CPUSeconds: 0.123456, MemoryMB: 5}}}},
		dispatcher.FinishRequest{Pilot: "p", Results: []dispatcher.Result{{Lease: "L", Outcome: dispatcher.Failed, ExitCode: &code, LogTail: "<a>\r\n\x1b[0m", Outputs: map[string]any{"x": 1.5}}}},
	} {
		body, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !agreeAll(t, body) {
			t.Errorf("not read by hand: %s", body)
		}
	}
}

func FuzzReaders(f *testing.F) {
	for _, seed := range []string{fullPull, fullRenew, fullFinish, `{}`, ` { "max" : -0 } `, `{"wait_s":1e3}`, `{"wait_s":00.5}`,
		`{"queue":"a","queue":null}`, `{"Queue":"a"}`, `{"max":9223372036854775808}`, `{"pilot":"\ud800"}`, `{"leases":[]}`, `{"results":[nul]}`, `{"slot":{"memory_mb":99999999999999999999}}`, `{"slot":{"disk_mb":-9223372036854775808}}`,
		`{"pilot":"a"}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agreeAll(t, body) })
}

// byJSON is what encoding/json writes.
func byJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

// The answers are byte for byte what encoding/json writes.
func TestAnswersAgreeWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pull := rapid.Make[dispatcher.PullReply]().Draw(t, "pull")
		renew := rapid.Make[dispatcher.RenewReply]().Draw(t, "renew")
		finish := rapid.Make[dispatcher.FinishReply]().Draw(t, "finish")
		for want, got := range map[string][]byte{
			byJSON(pull): appendPull(nil, &pull), byJSON(renew): appendRenew(nil, &renew), byJSON(finish): appendFinish(nil, &finish),
		} {
			if want != string(got) {
				t.Fatalf("by hand %s\nbut encoding/json %s", got, want)
			}
		}
	})
}

func TestTextAndFloat(t *testing.T) {
	var all strings.Builder
	for c := range 0x10000 {
		all.WriteRune(rune(c))
	}
	for _, s := range []string{"", "plain", "\xff", "a\xc3", "\xe2\x80\xa8 \xe2\x80\xa9 \xe2\x80", "\xf0\x9f\x98\x80", "\ufffd", "<>&", all.String()} {
		if want, got := byJSON(s), string(appendText(nil, s))+"\n"; want != got {
			t.Errorf("%.40q: by hand %.100q, encoding/json %.100q", s, got, want)
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 60, 1e-6, 9.99e-7, 1e-9, -1e-10, 1e-100, 1e15, 1e15 + 1, -1e16, 1e20, 1e21, 1.5e300, 123456789.125, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		if want, got := byJSON(f), string(appendFloat(nil, f))+"\n"; want != got {
			t.Errorf("%v: by hand %q, encoding/json %q", f, got, want)
		}
	}
}

func FuzzAppendText(f *testing.F) {
	f.Add("a\"\\\n\x00ü\xff\u2028", 0.5)
	f.Fuzz(func(t *testing.T, s string, x float64) {
		if want, got := byJSON(s), string(appendText(nil, s))+"\n"; want != got {
			t.Errorf("by hand %q, encoding/json %q", got, want)
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
		if want, got := byJSON(x), string(appendFloat(nil, x))+"\n"; want != got {
			t.Errorf("by hand %q, encoding/json %q", got, want)
		}
	})
}

// What is read by hand and what is not get the same answer: errors are those of encoding/json, with the same places.
func TestErrorsAreThoseOfEncodingJSON(t *testing.T) {
	b := newBench(t, &granting{}, access.Entrance{Open: true})
	for path, good := range map[string]string{"/v1/pulls": fullPull, "/v1/leases/renew": fullRenew, "/v1/leases/finish": fullFinish} {
		for i := 0; i < len(good); i += 3 {
			body := good[:i] + good[i+1:]
			var v any
			switch path {
			case "/v1/pulls":
				v = &dispatcher.PullRequest{}
			case "/v1/leases/renew":
				v = &dispatcher.RenewRequest{}
			default:
				v = &dispatcher.FinishRequest{}
			}
			err := json.Unmarshal([]byte(body), v)
			if err == nil {
				continue
			}
			want := problem.Of(problem.OfJSON([]byte(body), err))
			w := b.call(path, body)
			var got wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != want.Status {
				t.Fatalf("%s: %d %s", body, w.Code, w.Body)
			}
			if got.Code != want.Code || got.Detail != want.Detail || fmt.Sprint(got.Errors) != fmt.Sprint(want.Errors) {
				t.Errorf("%s\n got %v\nwant %v", body, &got, want)
			}
		}
	}
}
