// Package show prints for people: tables without lines, trees, bars, ages and figures, with colours where a terminal takes them.
package show
