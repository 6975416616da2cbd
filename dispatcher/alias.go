package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/holdings"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/runs"
	"github.com/divvyhq/divvy/dispatcher/series"
)

// What the packages below know under the same name.
type (
	Attempt          = lookup.Attempt
	HeldJob          = lookup.HeldJob
	Holding          = lookup.Holding
	JobChoice        = lookup.JobChoice
	JobFilter        = lookup.JobFilter
	JobMetadata      = lookup.JobMetadata
	JobRow           = lookup.JobRow
	ClaimStanding    = explain.ClaimStanding
	ClaimTakes       = explain.ClaimTakes
	Count            = explain.Count
	Explanation      = explain.Explanation
	QueueGate        = explain.QueueGate
	QueueStanding    = explain.QueueStanding
	QueueWanted      = explain.QueueWanted
	ShareStanding    = explain.ShareStanding
	ShareStock       = explain.ShareStock
	Skipped          = explain.Skipped
	Standing         = explain.Standing
	Stock            = explain.Stock
	TaskExplanation  = explain.TaskExplanation
	Why              = explain.Why
	WhyRequest       = explain.WhyRequest
	ShareSeries      = series.ShareSeries
	SeriesRequest    = series.Request
	Decided          = replay.Decided
	DecidedFilter    = replay.DecidedFilter
	Lately           = replay.Lately
	Run              = runs.Run
	ClaimFilter      = holdings.ClaimFilter
	GangHold         = holdings.GangHold
	ResourceID       = holdings.ResourceID
	ResourceStanding = holdings.ResourceStanding
)
