// Package golden holds what tests make against files that people read. With -update the files are written anew.
package golden
