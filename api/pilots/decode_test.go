package pilots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/mutate"
)

// agree holds the reading of a body against encoding/json: the same value, or the same error.
func agree[T any](t *testing.T, body []byte) {
	t.Helper()
	var want T
	got, err := read[T](body)
	wantErr := json.Unmarshal(body, &want)
	switch {
	case wantErr == nil && err == nil:
		if !reflect.DeepEqual(&want, got) {
			t.Errorf("read otherwise than by encoding/json (-)\n%q\n%s", body, cmp.Diff(&want, got))
		}
	case wantErr == nil || err == nil:
		t.Errorf("encoding/json says %v, not %v\n%q", wantErr, err, body)
	default:
		if want := problem.OfJSON(body, wantErr); want.Error() != err.Error() {
			t.Errorf("encoding/json says %v, not %v\n%q", want, err, body)
		}
	}
}

func agreeAll(t *testing.T, body []byte) {
	t.Helper()
	agree[dispatcher.PullRequest](t, body)
	agree[dispatcher.RenewRequest](t, body)
	agree[dispatcher.FinishRequest](t, body)
}

const (
	fullPull = `{"queue":"CERN","pilot":"p1","node":"n","devices":["gpu0","gpu1"],"slot":{"cores":8,"memory_mb":1,"disk_mb":1,"walltime_s":1,` +
		`"labels":{"os":"el9","a":""}},"max":4,"wait_s":0.5,"request_id":"r","only":{"labels":["a","b"],"task":7,"user":"u"}}`
	fullRenew  = `{"pilot":"p","leases":[{"lease":"L","state":"running","usage":{"cpu_s":1.5,"memory_mb":7},"report":{"a":[1]}},{"lease":"M","report":null},{},null]}`
	fullFinish = `{"pilot":"p","results":[{"lease":"L","outcome":"failed","exit_code":-1,"message":"m","usage":{"cpu_s":1,"memory_mb":7},` +
		`"outputs":{"a":[1,{"b":"}"}],"\n":"\"]"},"log_tail":"a\tb\n\"ü\\","report":{"b":"x"}},{"exit_code":null,"outputs":null},{"exit_code":0,"outputs":{}}]}`
)

// Every cut, many changes of a byte and every doubled field of good requests are read as encoding/json reads them.
func TestRequestsAreReadAsByEncodingJSON(t *testing.T) {
	for _, good := range []string{fullPull, fullRenew, fullFinish} {
		for i := range good {
			agreeAll(t, []byte(good[:i]))
			for _, c := range []string{"", "\"", "\\", "}", ",", "0", "e5", "null", "\x00", "\xff", "ü", `\u0041`, `\ud83d`, "X"} {
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

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{fullPull, fullRenew, fullFinish, `{}`, ` { "max" : -0 } `, `{"wait_s":1e3}`, `{"wait_s":00.5}`,
		`{"queue":"a","queue":null}`, `{"Queue":"a"}`, `{"max":9223372036854775808}`, `{"pilot":"\ud800"}`, `{"leases":[]}`, `{"results":[nul]}`, `{"slot":{"memory_mb":99999999999999999999}}`, `{"slot":{"disk_mb":-9223372036854775808}}`,
		`{"pilot":"a"}x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) { agreeAll(t, body) })
}

// The answers are byte for byte what encoding/json writes without HTML escapes.
func TestAnswersAreThoseOfEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, v := range []any{
			rapid.Make[dispatcher.PullReply]().Draw(t, "pull"), rapid.Make[dispatcher.RenewReply]().Draw(t, "renew"),
			rapid.Make[dispatcher.FinishReply]().Draw(t, "finish"),
		} {
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil {
				t.Fatal(err)
			}
			got := httptest.NewRecorder()
			if edge.Reply(got, v); want.String() != got.Body.String() {
				t.Fatalf("%s\nbut encoding/json %s", got.Body, &want)
			}
		}
	})
}

// Errors are those of encoding/json, with the same places.
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
