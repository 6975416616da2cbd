package dispatcher

import (
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/face"
	"github.com/divvyhq/divvy/dispatcher/lookup"
	"github.com/divvyhq/divvy/dispatcher/replay"
	"github.com/divvyhq/divvy/dispatcher/series"
)

// What the packages below know under the same name.
type (
	Attempt             = lookup.Attempt
	HeldJob             = lookup.HeldJob
	Holding             = lookup.Holding
	JobChoice           = lookup.JobChoice
	JobFilter           = lookup.JobFilter
	JobMetadata         = lookup.JobMetadata
	JobRow              = lookup.JobRow
	LeaseState          = lookup.LeaseState
	Outcome             = lookup.Outcome
	Usage               = lookup.Usage
	BlackHoleStanding   = explain.BlackHoleStanding
	ClaimHolder         = explain.ClaimHolder
	ClaimStanding       = explain.ClaimStanding
	ClaimTakes          = explain.ClaimTakes
	ClaimWaiter         = explain.ClaimWaiter
	Count               = explain.Count
	Decision            = explain.Decision
	DecisionLevel       = explain.DecisionLevel
	Duel                = explain.Duel
	ETA                 = explain.ETA
	Explanation         = explain.Explanation
	Flow                = explain.Flow
	Gate                = explain.Gate
	LevelStanding       = explain.LevelStanding
	PathStanding        = explain.PathStanding
	Place               = explain.Place
	PoolStanding        = explain.PoolStanding
	Position            = explain.Position
	QueueGate           = explain.QueueGate
	QueueSet            = explain.QueueSet
	QueueStanding       = explain.QueueStanding
	Record              = explain.Record
	ShareStanding       = explain.ShareStanding
	ShareStock          = explain.ShareStock
	Side                = explain.Side
	Skipped             = explain.Skipped
	Standing            = explain.Standing
	Stock               = explain.Stock
	StockGap            = explain.StockGap
	Tally               = explain.Tally
	TargetSlotsStanding = explain.TargetSlotsStanding
	TaskExplanation     = explain.TaskExplanation
	TaskWait            = explain.TaskWait
	UserStanding        = explain.UserStanding
	Why                 = explain.Why
	WhyRequest          = explain.WhyRequest
	WhyStanding         = explain.WhyStanding
	SharePoint          = series.SharePoint
	ShareSeries         = series.ShareSeries
	SeriesRequest       = series.Request
	Decided             = replay.Decided
	DecidedFilter       = replay.DecidedFilter
	Rule                = replay.Rule
	Lately              = replay.Lately
	CancelOrder         = face.CancelOrder
	FinishReply         = face.FinishReply
	FinishRequest       = face.FinishRequest
	Lease               = face.Lease
	PullReply           = face.PullReply
	PullRequest         = face.PullRequest
	RenewReply          = face.RenewReply
	RenewRequest        = face.RenewRequest
	Renewal             = face.Renewal
	Result              = face.Result
	Verdict             = face.Verdict
	QueueLately         = face.QueueLately
	QueueHeld           = face.QueueHeld
	KindQueues          = face.KindQueues
	QueueFit            = face.QueueFit
	ResourceStanding    = face.ResourceStanding
	ResourceExternal    = face.ResourceExternal
	ResourceID          = face.ResourceID
	ResourceClaim       = face.ResourceClaim
	GangHold            = face.GangHold
)
