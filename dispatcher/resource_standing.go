package dispatcher

import "errors"

// ErrUnknownResource is the error for a resource that the site in force does not have.
var ErrUnknownResource = errors.New("unknown resource")
