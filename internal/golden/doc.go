// Package golden compares the output of tests with files that people read. With -update it writes the files anew.
package golden
