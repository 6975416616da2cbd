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
	Attempt           = lookup.Attempt
	HeldJob           = lookup.HeldJob
	Holding           = lookup.Holding
	JobChoice         = lookup.JobChoice
	JobFilter         = lookup.JobFilter
	JobMetadata       = lookup.JobMetadata
	JobRow            = lookup.JobRow
	BlackHoleStanding = explain.BlackHoleStanding
	ClaimHolder       = explain.ClaimHolder
	ClaimStanding     = explain.ClaimStanding
	ClaimTakes        = explain.ClaimTakes
	ClaimWaiter       = explain.ClaimWaiter
	Count             = explain.Count
	Decision          = explain.Decision
	DecisionLevel     = explain.DecisionLevel
	Duel              = explain.Duel
	ETA               = explain.ETA
	Explanation       = explain.Explanation
	LevelStanding     = explain.LevelStanding
	PathStanding      = explain.PathStanding
	Place             = explain.Place
	PoolStanding      = explain.PoolStanding
	Position          = explain.Position
	QueueGate         = explain.QueueGate
	QueueSet          = explain.QueueSet
	QueueStanding     = explain.QueueStanding
	Record            = explain.Record
	ShareStanding     = explain.ShareStanding
	ShareStock        = explain.ShareStock
	Side              = explain.Side
	Skipped           = explain.Skipped
	Standing          = explain.Standing
	Stock             = explain.Stock
	StockGap          = explain.StockGap
	TaskExplanation   = explain.TaskExplanation
	TaskWait          = explain.TaskWait
	Why               = explain.Why
	WhyRequest        = explain.WhyRequest
	WhyStanding       = explain.WhyStanding
	SharePoint        = series.SharePoint
	ShareSeries       = series.ShareSeries
	SeriesRequest     = series.Request
	Decided           = replay.Decided
	DecidedFilter     = replay.DecidedFilter
	Rule              = replay.Rule
	Lately            = replay.Lately
	Run               = runs.Run
	ClaimFilter       = holdings.ClaimFilter
	GangHold          = holdings.GangHold
	ResourceExternal  = holdings.ResourceExternal
	ResourceID        = holdings.ResourceID
	ResourceStanding  = holdings.ResourceStanding
)
