package lease

import (
	"context"
	"errors"
	"testing"
)

// Who looks at a loop that stands still is not left waiting, and looks no more after that.
func TestSeeIsGivenUp(t *testing.T) {
	l := NewLoop(Config{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Watch(ctx, func(*Node) { t.Error("it looks") }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	l.show()
	l.closed = true
	if err := l.Watch(t.Context(), nil); !errors.Is(err, ErrStopped) {
		t.Error(err)
	}
}
