package build

import "runtime/debug"

// release is what a build without the history of its source says it is: -ldflags '-X github.com/divvyhq/divvy/internal/build.release=v1.2.3'. The images are built so.
var release string

// Version is what the build was told, else that of the module, or the commit that it was built from.
func Version() string {
	if release != "" {
		return release
	}
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := b.Main.Version
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v
}
