package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file of the page. Its name in links has its hash, so that browsers may keep it for ever.
type asset struct {
	body []byte
	tag  string
	kind string
}

func readAssets() map[string]*asset {
	all := map[string]*asset{}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		kind := mime.TypeByExtension(path.Ext(e.Name()))
		switch path.Ext(e.Name()) { // not what a machine's /etc/mime.types thinks
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		case ".txt":
			kind = "text/plain; charset=utf-8"
		}
		all[e.Name()] = &asset{body: body, tag: hex.EncodeToString(sum[:8]), kind: kind}
	}
	return all
}

func (p *Page) link(name string) (string, error) {
	a := p.assets[name]
	if a == nil {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return "/assets/" + name + "?v=" + a.tag, nil
}

// serveAsset is GET /assets/{name}.
func (p *Page) serveAsset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/assets/")
	a := p.assets[name]
	if a == nil {
		p.cfg.Fail(w, fmt.Errorf("%w: %s", ErrNoPage, r.URL.Path))
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("ETag", `"`+a.tag+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	if r.URL.Query().Get("v") == a.tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(a.body))
}
