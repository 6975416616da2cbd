package dispatcher

import "errors"

// ErrHandOn goes with the relay of pulls over HTTP.
var ErrHandOn = errors.New("another daemon decides")
