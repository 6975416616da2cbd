package panda

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/lookup"
)

// PanDA's pilots do not report the output of their payload, so runShell sends the end of it. Each job names a
// transformation of its own, /trf/<key>/runShell, which knows where to post the output. The key is a secret of the
// attempt, good for that purpose only.

// keyParam is a log key in the path of a route. A payload posts to logName below it.
const (
	keyParam = "{key:[A-Za-z0-9_-]{38}}"
	logName  = "log"
)

// noLog is the line of runShell that says where the output goes.
var noLog = []byte("\ndivvy_log=\n")

// withLog completes a script with the log address of the attempt whose key the request has; without a key the script
// stays as it is.
func (s *server) withLog(script []byte, r *http.Request) []byte {
	key := chi.URLParam(r, "key")
	if key == "" {
		return script
	}
	to := "\ndivvy_log=" + taskspec.Quote(s.base(r)+taskspec.TrfPath+key+"/"+logName) + "\n"
	return bytes.Replace(script, noLog, []byte(to), 1)
}

// payloadLog is POST /trf/<key>/log, sent by a payload that has ended or is about to end.
func (s *server) payloadLog(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), s.Timeout)
	defer cancel()
	log, err := io.ReadAll(http.MaxBytesReader(w, r.Body, dispatcher.MaxPayloadLog))
	if err != nil {
		http.Error(w, "the output could not be read, or is longer than 64 KiB a stream", http.StatusRequestEntityTooLarge)
		return
	}
	switch err := s.Dispatcher.KeepLog(ctx, chi.URLParam(r, "key"), string(log)); {
	case errors.Is(err, lookup.ErrNoAttempt):
		http.Error(w, "no attempt that runs, or ended lately, has this key", http.StatusNotFound)
	case err != nil:
		s.Log.Warn("the output of a payload is not kept", "error", err)
		http.Error(w, wire.TryAgain, http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// keyInPath finds log keys in paths, and in reports of pilots, whose logs name the transformation.
var keyInPath = regexp.MustCompile(`/trf/[A-Za-z0-9_-]{38}/`)

// HideKeys removes log keys from a text.
func HideKeys(text string) string { return keyInPath.ReplaceAllLiteralString(text, "/trf/.../") }

func hideKeys(v any) any {
	switch v := v.(type) {
	case string:
		return HideKeys(v)
	case []any:
		for i := range v {
			v[i] = hideKeys(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = hideKeys(v[name])
		}
	}
	return v
}

// withoutKeys returns the arguments without log keys.
func withoutKeys(a wire.Args) wire.Args {
	return wire.Args(hideKeys(map[string]any(a)).(map[string]any))
}
