package payload

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/api/wire"
)

// Whatever a lease says, its job has a folder of its own right below the pilot's, and its variables of ours are ours: the last
// of a name counts.
func TestJobsStayInTheirFolder(t *testing.T) {
	files, err := openWorkDir(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer files.close()
	h := &Host{owner: Owner{Queue: "Q", Name: "N"}, mark: "m", files: files}
	word := rapid.OneOf(rapid.SampledFrom([]string{"", "..", "../../etc", "/etc/passwd", "a\x00b", "a\nDIVVY_WORK=/", "DIVVY_WORK", "DIVVY_OUTPUTS", "DIVVY_JOB=", "PWD", "'; id; '"}),
		rapid.StringMatching(`[A-Z_=./ '"\n]{0,12}`))
	rapid.Check(t, func(t *rapid.T) {
		l := wire.Lease{Job: rapid.Int64().Draw(t, "job"), Attempt: rapid.Int().Draw(t, "attempt"), Share: word.Draw(t, "share"), Lease: word.Draw(t, "lease"),
			Env: rapid.MapOfN(word, word, 0, 5).Draw(t, "env")}
		dir, err := files.make(l)
		if err != nil {
			t.Fatal(err)
		}
		defer removeAll(dir)
		if filepath.Dir(dir) != files.root || dir != filepath.Clean(dir) {
			t.Fatalf("the folder is %q, of a pilot in %q", dir, files.root)
		}
		if info, err := os.Stat(filepath.Join(dir, workName)); err != nil || !info.IsDir() {
			t.Fatalf("no folder to work in: %v", err)
		}
		last := map[string]string{}
		for _, s := range h.environment(&Job{dir: dir, lease: l}) {
			name, value, _ := strings.Cut(s, "=")
			last[name] = value
		}
		for name, want := range map[string]string{"DIVVY_WORK": filepath.Join(dir, workName), "DIVVY_OUTPUTS": filepath.Join(dir, outputsName), "DIVVY_QUEUE": "Q", "DIVVY_PILOT": "N",
			"DIVVY_SHARE": l.Share, runVariable: "m"} {
			if last[name] != want {
				t.Fatalf("%s is %q, want %q", name, last[name], want)
			}
		}
	})
}

// A link that a job has left in the place of a folder opens nothing elsewhere.
func TestNoFolderElsewhereIsOpened(t *testing.T) {
	own, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Chmod(elsewhere, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(own, "sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(own, "link")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(own)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, refused := range map[string]bool{"sub": false, "link": true} {
		if err := open(root, name); (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	for dir, want := range map[string]os.FileMode{elsewhere: 0o500, filepath.Join(own, "sub"): 0o700} {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v: %v", dir, st.Mode(), want, err)
		}
	}
	if err := removeAll(own); err != nil {
		t.Error(err)
	}
}

// A user passes through folders as the kernel has it: as owner, else by a group, else as anybody.
func TestPasses(t *testing.T) {
	dir := t.TempDir()
	st, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no ids of a folder")
	}
	owner := syscall.Credential{Uid: own.Uid, Gid: own.Gid + 1}
	group := syscall.Credential{Uid: own.Uid + 1, Gid: own.Gid}
	member := syscall.Credential{Uid: own.Uid + 1, Gid: own.Gid + 1, Groups: []uint32{own.Gid}}
	other := syscall.Credential{Uid: own.Uid + 1, Gid: own.Gid + 1}
	for mode, want := range map[os.FileMode][4]bool{0o700: {true, false, false, false}, 0o710: {true, true, true, false}, 0o711: {true, true, true, true}, 0o601: {false, false, false, true}} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if st, err = os.Stat(dir); err != nil {
			t.Fatal(err)
		}
		for i, c := range []syscall.Credential{owner, group, member, other} {
			if got := (&jobUser{cred: &c}).passes(st); got != want[i] {
				t.Errorf("%o, user %d: %t", mode, i, got)
			}
		}
	}
}

func TestFoldersOfEndedJobs(t *testing.T) {
	root := t.TempDir()
	w, err := openWorkDir(root, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		dir, err := w.make(wire.Lease{Job: int64(i + 1), Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		write(t, "log", dir, stdoutName)
		if err := os.Mkdir(filepath.Join(dir, workName, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, "data", dir, workName, "sub", "data")
		if err := os.Chmod(filepath.Join(dir, workName, "sub"), 0o500); err != nil {
			t.Fatal(err)
		}
		if err := w.done(dir, false); err != nil {
			t.Fatal(err)
		}
	}
	w.close()
	if exists(root, "2-1") || !exists(root, "3-1", stdoutName) || exists(root, "4-1", workName) {
		t.Error("want the logs of the two youngest, and nothing else")
	}
	if w, err = openWorkDir(root, 1); err != nil { // a later run goes on counting
		t.Fatal(err)
	}
	defer w.close()
	dir, err := w.make(wire.Lease{Job: 3, Attempt: 1})
	if b, _ := os.ReadFile(filepath.Join(dir, stdoutName)); err != nil || len(b) > 0 {
		t.Errorf("%v: a folder that is used again must be empty", err)
	}
	if err := w.done(dir, false); err != nil || exists(root, "4-1") || !exists(root, "3-1") {
		t.Errorf("%v: want 3-1 alone", err)
	}
}
