package figure

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Book is a report that is being written.
type Book struct {
	Report

	mu       sync.Mutex // several data sets are made at the same time
	progress io.Writer
}

// NewBook begins a report of the requested measurements. progress is told of every step, but of no figures; it may be
// nil.
func NewBook(sizes any, progress io.Writer) *Book {
	if progress == nil {
		progress = io.Discard
	}
	return &Book{Report: Report{Began: time.Now(), Sizes: sizes}, progress: progress}
}

// Say tells what goes on.
func (b *Book) Say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.progress, "%6.1f s  %s\n", time.Since(b.Began).Seconds(), fmt.Sprintf(format, args...))
}

// Add adds figures.
func (b *Book) Add(f ...Figure) { b.Figures = append(b.Figures, f...) }

// Command notes a command, or what a load does.
func (b *Book) Command(format string, args ...any) {
	b.Commands = append(b.Commands, fmt.Sprintf(format, args...))
}

// Checked notes a check.
func (b *Book) Checked(format string, args ...any) {
	b.Checks = append(b.Checks, fmt.Sprintf(format, args...))
}

// Set notes a setting.
func (b *Book) Set(name, format string, args ...any) {
	b.Settings = append(b.Settings, Setting{name, fmt.Sprintf(format, args...)})
}

// Skip says why a measurement is left out, on the terminal and in the report.
func (b *Book) Skip(id, why string) {
	b.Say("%s skipped: %s", id, why)
	b.Skipped = append(b.Skipped, Skip{id, why})
}

// Settled says that a measurement has a figure, or is skipped already.
func (b *Book) Settled(id string) bool {
	return slices.ContainsFunc(b.Figures, func(f Figure) bool { return f.ID == id }) || slices.ContainsFunc(b.Skipped, func(k Skip) bool { return k.ID == id })
}

// Unmeasured is why a measurement cannot be made here, or has come out without a figure: the others stand.
type Unmeasured struct{ Why string }

// Error is why.
func (e *Unmeasured) Error() string { return e.Why }

// TooShort is an Unmeasured of a round that came out empty.
func TooShort(what string) error {
	return &Unmeasured{what + ": this machine is too busy, rounds are too short, or the data set is too small"}
}
