// Bundle makes assets/page.js and assets/page.css of src and the npm packages that src/package-lock.json names, with
// esbuild's Go library: `go generate ./api/web`. It installs these packages by npm when they are not there.
//
// It is a module of its own, so that divvy does not depend on esbuild: what it makes is committed.
//
//	go run . SRC ASSETS            writes the assets
//	go run . -check SRC ASSETS     fails when they are not what the sources make
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle [-check] SRC ASSETS")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *check); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(src, assets string, check bool) error {
	if err := install(src); err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(src, "page.ts"), filepath.Join(src, "page.css"), filepath.Join(src, "plain.css")}, Bundle: true, Outdir: assets,
		MinifyWhitespace: true, MinifySyntax: true, MinifyIdentifiers: true, Charset: api.CharsetUTF8,
		Format: api.FormatIIFE, Target: api.ES2021, LegalComments: api.LegalCommentsEndOfFile, LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	for _, f := range result.OutputFiles {
		if check {
			there, err := os.ReadFile(f.Path)
			if err != nil || !bytes.Equal(there, f.Contents) {
				return fmt.Errorf("%s is not what its sources make: go generate ./api/web", filepath.Base(f.Path))
			}
			continue
		}
		if err := os.WriteFile(f.Path, f.Contents, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// install fetches the packages of the lock file, each checked by its hash, without running anything of theirs.
func install(src string) error {
	if _, err := os.Stat(filepath.Join(src, "node_modules", ".package-lock.json")); err == nil {
		return nil
	}
	cmd := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = src, os.Stderr, os.Stderr
	return cmd.Run()
}
