package show

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	now := time.Now()
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 61 * time.Second: "1m", time.Hour: "1h", 90 * time.Minute: "1h30m",
		24 * time.Hour: "1d", 28 * time.Hour: "1d4h", 30 * 24 * time.Hour: "30d", -time.Hour: "0s",
	} {
		if got := Age(now, now.Add(-d)); got != want {
			t.Errorf("age of %s is %s, want %s", d, got, want)
		}
	}
	if got := Age(now, time.Time{}); got != "-" {
		t.Errorf("age of never is %s", got)
	}
}
