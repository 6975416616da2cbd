// Package origin tells requests that the page of a foreign site may have made a browser send from those of programs.
// Routes that ask for no token stand behind nothing else.
package origin
