package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site/file"
)

const (
	sendMost   = 8 // at once to a receiver
	sendWithin = 10 * time.Second
)

// poster sends messages. What a receiver redirects to is not asked.
var poster = &http.Client{Timeout: sendWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// send has a receiver told what is due, unless it is being told.
func (h *Hooks) send(w file.Webhook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[w.Name] || h.ctx.Err() != nil {
		return
	}
	h.busy[w.Name] = true
	h.sending.Go(func() {
		defer func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.busy, w.Name)
		}()
		for {
			n, err := h.tell(h.ctx, w)
			if err != nil && h.ctx.Err() == nil {
				h.Log.Warn("a receiver is not told; it is tried again", "webhook", w.Name, "error", err)
			}
			if err != nil || n < sendMost {
				return
			}
		}
	})
}

// due is a message whose attempt begins.
type due struct {
	ID    int64
	Event string
	Body  string
	Tries int
}

// tell makes attempts at messages that are due, and returns how many. The error is that of one that failed.
func (h *Hooks) tell(ctx context.Context, w file.Webhook) (n int, err error) {
	all, err := pg.Collect[due](ctx, h.DB, query["claim"], pg.Args{"webhook": w.Name, "most": sendMost, "first_s": h.first.Seconds(), "longest_s": longestWait.Seconds()})
	if err != nil || len(all) == 0 {
		return 0, err
	}
	key, err := secret(w)
	if err != nil {
		h.told.WithLabelValues(w.Name, "failed").Add(float64(len(all)))
		return 0, err
	}
	errs := make([]error, len(all))
	var each sync.WaitGroup
	for i, m := range all {
		each.Go(func() { errs[i] = post(ctx, w.URL, key, m) })
	}
	each.Wait()
	var told []int64
	for i, m := range all {
		if errs[i] == nil {
			told = append(told, m.ID)
		}
	}
	h.told.WithLabelValues(w.Name, "told").Add(float64(len(told)))
	h.told.WithLabelValues(w.Name, "failed").Add(float64(len(all) - len(told)))
	if len(told) > 0 {
		if _, err := h.DB.Exec(ctx, query["told"], pg.Args{"ids": told}); err != nil {
			return 0, err
		}
	}
	for _, err := range errs {
		if err != nil {
			return len(all), err
		}
	}
	return len(all), nil
}

// secret reads the secret of a receiver: whsec_ and base64, as Standard Webhooks has it, or any text.
func secret(w file.Webhook) ([]byte, error) {
	text := os.Getenv(w.SecretEnv)
	if w.SecretFile != "" {
		b, err := os.ReadFile(w.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("secret_file: %w", err)
		}
		text = string(b)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("the secret is empty")
	}
	encoded, ok := strings.CutPrefix(text, "whsec_")
	if !ok {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errors.New("the secret after whsec_ is no base64")
	}
	return key, nil
}

// sign returns the signature of a message, as Standard Webhooks has it.
func sign(key []byte, id, at, body string) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// post makes one attempt.
func post(ctx context.Context, address string, key []byte, m due) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader([]byte(m.Body)))
	if err != nil {
		return err
	}
	id, at := "msg_"+strconv.FormatInt(m.ID, 10), strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "divvy/"+build.Version())
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", sign(key, id, at, m.Body))
	resp, err := poster.Do(req)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // addresses of receivers may be secret
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return fmt.Errorf("it answers %s to %s, attempt %d", resp.Status, id, m.Tries)
	}
	return nil
}
