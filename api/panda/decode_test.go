package panda

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// pack is gzip as pilots send it.
func pack(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// One request reads the same in all the forms that pilots send it in.
func TestForms(t *testing.T) {
	said := `{"siteName":"Q","mem":24105.56,"diskSpace":16336,"taskID":"77","node":"vm","nJobs":2}`
	form := url.Values{"siteName": {"Q"}, "mem": {"24105.56"}, "diskSpace": {"16336"}, "taskID": {"77"}, "node": {"vm"}, "nJobs": {"2"}}.Encode()
	want := wire.Args{"siteName": "Q", "mem": 24105.56, "diskSpace": 16336.0, "taskID": int64(77), "node": "vm", "nJobs": int64(2)}
	for name, body := range map[string][]byte{
		"json": []byte(said), "gzip": pack(t, []byte(said)), "form": []byte(form), "packed form": pack(t, []byte(form)), "padded": []byte(" \n" + said + "\n"),
	} {
		a, err := wire.Parse(body)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, oldGetJob.Lenient(a)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	r := httptest.NewRequest("GET", "/x?"+form, nil)
	if a, err := wire.Decode(httptest.NewRecorder(), r); err != nil || !reflect.DeepEqual(oldGetJob.Lenient(a), want) {
		t.Error(a, err)
	}
}

// Seconds since 1970 are kept to the nearest millisecond, not to the one before.
func TestTimeSaid(t *testing.T) {
	for seconds, want := range map[float64]string{1795229981.8: "2026-11-21T02:59:41.8Z", 1795229981.9996: "2026-11-21T02:59:42Z", 0: "", 1e12: ""} {
		if got := timeSaid(seconds); got != want {
			t.Errorf("%f: %s, expected %s", seconds, got, want)
		}
	}
}

func TestBadBodies(t *testing.T) {
	for name, body := range map[string][]byte{
		"half an object": []byte(`{"a":`), "a list": []byte(`[1]`), "a word": []byte(`"a"`), "two objects": []byte(`{} {}`), "prose": []byte(`hello`),
		"half a gzip": pack(t, []byte(`{"siteName":"Q"}`))[:20], "no gzip": {0x1f, 0x8b, 1}, "a bomb": pack(t, bytes.Repeat([]byte(" "), wire.MaxUnpacked+1)),
		"a broken form": []byte("a=%zz"),
	} {
		if a, err := wire.Parse(body); err == nil {
			t.Errorf("%s was read: %v", name, a)
		}
	}
	if a, err := wire.Parse(nil); err != nil || len(a) != 0 {
		t.Error("nothing is no arguments", a, err)
	}
}

// No body makes the reader fall over, and packing it changes nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"jobId":"1","state":"running","attemptNr":1,"startTime":1795231342.5}`, "jobId=1&state=running", "a[]=1&a[]=2",
		`{"xml":"{\"a\":{}}","metaData":{"x":1e400}}`, "\x1f\x8b", `{"job_list":[{}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := wire.Parse(body)
		if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			return
		}
		b, packedErr := wire.Parse(pack(t, body))
		if (err == nil) != (packedErr == nil) || !reflect.DeepEqual(a, b) {
			t.Fatalf("%v %v, packed %v %v", a, err, b, packedErr)
		}
		for _, u := range []update{fromOld(oldParams.Lenient(a)), fromNew(newParams.Lenient(a))} {
			if _, err := json.Marshal(u.report); err != nil {
				t.Fatal(err)
			}
			if len(u.message()) > 4096 || strings.Contains(fmt.Sprint(u.usage()), "-") {
				t.Fatalf("%+v", u)
			}
		}
		_ = oldGetJob.Lenient(a)
		_, _ = newParams.Read(a)
	})
}

// What a body unpacks to is counted before it is taken apart: 30 KB that are packed hold millions of values.
func TestManyValues(t *testing.T) {
	zeros := strings.Repeat("0,", 3_000_000)
	for name, body := range map[string]string{
		"a list":     `{"a":[` + zeros + `0]}`,
		"an object":  `{` + strings.Repeat(`"a":0,`, 1_000_000) + `"a":0}`,
		"a form":     strings.Repeat("a=&", 3_000_000),
		"not closed": `{"a":[` + zeros,
	} {
		var before, after runtime.MemStats
		packed := pack(t, []byte(body))
		runtime.ReadMemStats(&before)
		_, err := wire.Parse(packed)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || len(err.Error()) > 200 || took > 200<<20 && !pgtest.Raced {
			t.Errorf("%s: %.200v; it took %d MB", name, err, took>>20)
		}
	}
	if v := wire.Unwrap(`{"a":[` + zeros + `0]}`); len(v.(string)) < len(zeros) {
		t.Error("a text in a body was taken apart")
	}
	a := wire.Args{}
	for old := range oldCalls["setNumSlotsForWP"].names { // each is within bounds, all are not
		a[old] = "[" + strings.Repeat("0,", wire.MaxValues*2/5) + "0]"
	}
	apart := 0
	for _, v := range oldCalls["setNumSlotsForWP"].renamed(a) {
		if _, is := v.([]any); is {
			apart++
		}
	}
	if len(a) != 6 || apart != 2 {
		t.Errorf("%d of %d arguments were taken apart, want 2", apart, len(a))
	}
	if _, err := wire.Parse([]byte(`{"a":[` + strings.Repeat("0,", wire.MaxValues/2) + `0], "b":"` + strings.Repeat(",", wire.MaxValues) + `"}`)); err != nil {
		t.Error("fewer values than there may be: ", err)
	}
}
