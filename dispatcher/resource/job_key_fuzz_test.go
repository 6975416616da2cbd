package resource

import "testing"

// The name of a job is refused, or is the name of the key that it was read as.
func FuzzJobKey(f *testing.F) {
	for _, s := range []string{"0/sgx/1/pca/2", "0/metrics/1", "0//1", "-1/a/0", "00/a/1", "0/a/2147483648", "0/a/b/c/d", "///", "////", "0//1/a/2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseJobKey(s)
		if err != nil {
			return
		}
		if k.Role == "" || k.Task < 0 || k.Index < 0 {
			t.Errorf("%q was read as %+v", s, k)
		}
		if k.Name() != s {
			t.Errorf("%q was read as %+v, which is %q", s, k, k.Name())
		}
	})
}
