package cli

import (
	"io"
	"os"
)

// ReadFile reads a file that the command line names, or standard input for "-".
func ReadFile(c *CLI, file string) (src []byte, name string, err error) {
	if file == "-" {
		src, err = io.ReadAll(c.In)
		return src, "stdin", err
	}
	src, err = os.ReadFile(file)
	return src, file, err
}
