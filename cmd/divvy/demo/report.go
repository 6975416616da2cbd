package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Row is one leaf in the table at the end. Slot-seconds are inside the window.
type Row struct {
	Share      string  `json:"share"`
	Target     float64 `json:"target_slot_s"`    // ∫target dt
	Due        float64 `json:"due_slot_s"`       // its target's part of what all leaves held, at each moment
	Delivered  float64 `json:"delivered_slot_s"` // Σ of attempts
	Deviation  float64 `json:"deviation_slot_s"` // delivered - due
	Allowed    float64 `json:"allowed_slot_s"`
	MeanJob    float64 `json:"mean_job_slot_s"`
	Moved      float64 `json:"moved_slots"` // largest target less least one
	Jobs       int64   `json:"jobs"`
	Failed     int64   `json:"failed"`
	WithinPlan bool    `json:"ok"`
}

// Report is report.json.
type Report struct {
	From       time.Time `json:"from"`
	To         time.Time `json:"to"`
	Switch     time.Time `json:"demand_changed_at"`
	Slots      int       `json:"slots"`
	Inputs     string    `json:"inputs"`
	Idle       float64   `json:"idle"` // part of the slots' time in the window that no job held
	LongestJob float64   `json:"longest_job_slot_s"`
	Rows       []Row     `json:"shares"`
	Outputs    int       `json:"outputs_verified"`
	Files      int       `json:"files_read"`
	Bytes      int64     `json:"bytes_read"`
	Problems   []string  `json:"problems"`
	Passed     bool      `json:"ok"`
	Series     []Series  `json:"series"`

	Folder string `json:"-"`
}

// tolerance is the part of what a leaf is due by which it may miss it.
const tolerance = 0.05

// moving is the part of what a leaf is due by which it may miss it for jobs that run to their end when its target moves: one
// long job on a busy machine must not excuse everything.
const moving = 0.25

// busyFrom is the idle part of slot time from which the machine is called busy: a quiet one has about 0.01.
const busyFrom = 0.02

// Busy says that the machine was too slow to keep the slots in use. That is no fault of the shares.
func (r *Report) Busy() bool { return r.Idle >= busyFrom }

// judge fills in what follows from due and delivered, and lists what is wrong.
func (r *Report) judge() {
	delivered := 0.0
	for i := range r.Rows {
		row := &r.Rows[i]
		delivered += row.Delivered
		row.Deviation = row.Delivered - row.Due
		row.Allowed = max(tolerance*row.Due, row.MeanJob+min(row.Moved*r.LongestJob, moving*row.Due))
		row.WithinPlan = math.Abs(row.Deviation) <= row.Allowed
		if !row.WithinPlan {
			r.problem("%s got %.1f slot-seconds, its target's part of what was delivered is %.1f: %.1f off, %.1f allowed",
				row.Share, row.Delivered, row.Due, math.Abs(row.Deviation), row.Allowed)
		}
		if row.Jobs == 0 {
			r.problem("%s ran no job", row.Share)
		}
		if row.Failed > 0 {
			r.problem("%s has %d failed attempts", row.Share, row.Failed)
		}
	}
	if len(r.Rows) != len(Leaves) {
		r.problem("the report views know %d of %d shares", len(r.Rows), len(Leaves))
	}
	if all := float64(r.Slots) * r.To.Sub(r.From).Seconds(); all > 0 {
		r.Idle = max(0, 1-delivered/all)
	}
	r.Passed = len(r.Problems) == 0
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

// write fills the report folder: report.json and plot.svg beside the outputs.
func (r *Report) write() error {
	if r.Problems == nil {
		r.Problems = []string{}
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	plot := Plot{Title: "divvy demo: slots held and target, by share", Series: r.Series, Until: r.To.Sub(r.From).Seconds(),
		Marks: []Mark{{T: r.Switch.Sub(r.From).Seconds(), Text: lateLeaf + " gets work"}}}
	return errors.Join(
		writeWhole(filepath.Join(r.Folder, "report.json"), func(w io.Writer) error { _, err := w.Write(append(b, '\n')); return err }),
		writeWhole(filepath.Join(r.Folder, "plot.svg"), plot.WriteSVG),
	)
}

// verifyOutputs recomputes every output below the report folder. jobs is how many finished jobs there must be.
func (r *Report) verifyOutputs(jobs int64) {
	found, err := filepath.Glob(filepath.Join(r.Folder, "outputs", "*", "*.json"))
	if err != nil {
		r.problem("%v", err)
	}
	for _, f := range found {
		out, err := verifyOutput(f)
		if err != nil {
			r.problem("%v", err)
			continue
		}
		r.Outputs++
		r.Files += out.Files
		r.Bytes += out.Bytes
	}
	if int64(len(found)) != jobs {
		r.problem("%d jobs finished, %d outputs are there", jobs, len(found))
	}
}

// newFolder makes the report folder; it must not hold anything yet, so that outputs are those of this run.
func newFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("report folder %s is not empty", dir)
	}
	return err
}
