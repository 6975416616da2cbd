package web

import (
	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/report"
	"github.com/divvyhq/divvy/shares/tagging"
)

// tree shows shares and versions of the site, and tries other ones.
type tree struct {
	dispatcher Dispatcher
	site       Site
	shares     standings
}

// places shows queues and finite resources with those that hold them.
type places struct {
	dispatcher Dispatcher
	site       Site
	queues     brief[[]QueueLine] // of all; its only id is 0
}

// work shows tasks and jobs, and steers them.
type work struct {
	dispatcher Dispatcher
	tasks      Tasks
	steering   Steering
	site       Site
	tree       *tree
	explains   brief[dispatcher.Explanation]  // by job
	places     brief[[]dispatcher.KindQueues] // by task
	rules      brief[[]tagging.Rule]          // by site version
}

// past shows decisions, and who changed what.
type past struct {
	dispatcher Dispatcher
	audit      Audit
	tree       *tree
	places     *places
}

// rooms are what makes the values that a page shows, by what they are about.
type rooms struct {
	tree   *tree
	places *places
	work   *work
	past   *past
	told   *reports
}

func newRooms(cfg Config) rooms {
	t := &tree{dispatcher: cfg.Dispatcher, site: cfg.Site}
	q := &places{dispatcher: cfg.Dispatcher, site: cfg.Site, queues: brief[[]QueueLine]{lasts: standingLasts}}
	w := &work{dispatcher: cfg.Dispatcher, tasks: cfg.Tasks, steering: cfg.Steering, site: cfg.Site, tree: t, explains: brief[dispatcher.Explanation]{lasts: explainLasts},
		places: brief[[]dispatcher.KindQueues]{lasts: placesLast}, rules: brief[[]tagging.Rule]{lasts: rulesLast}}
	return rooms{t, q, w, &past{dispatcher: cfg.Dispatcher, audit: cfg.Audit, tree: t, places: q},
		&reports{reader: cfg.Reports, tables: brief[report.Table]{lasts: tablesLast}}}
}

// views lists the views, in no special order.
func (r *rooms) views() []View {
	t, q, w, h := r.tree, r.places, r.work, r.past
	return []View{
		{Name: "shares", Path: "/", Title: "Shares", Nav: "/", Query: []string{"open"}, Show: t.sharesPage, Live: live(SharesPage.update)},
		{Name: "shares", Path: "/shares/*", Title: "Shares", Nav: "/", Query: []string{"open"}, Show: t.sharesPage, Live: live(SharesPage.update)},
		{Name: "series", Path: "/series/*", Nav: "/", Query: []string{"span"}, Show: t.series},
		{Name: "versions", Path: "/versions", Title: "Versions of the site", Nav: "/", Query: []string{"before"}, Show: t.versions},
		{Name: "version", Path: "/versions/{version}", Nav: "/", Query: []string{"against"}, Show: t.version},
		{Name: "whatif", Path: "/what-if", Title: whatIfTitle, Nav: "/", Show: t.whatIf},
		{Name: "queues", Path: "/queues", Title: "Queues", Nav: "/queues", Query: []string{"q", "pool", "state", "sort", "page"},
			Show: q.queuesPage, Live: live(QueuesPage.update)},
		{Name: "queue", Path: "/queues/{queue}", Title: "Queue", Nav: "/queues", Show: q.queuePage},
		{Name: "tasks", Path: "/tasks", Title: "Tasks", Nav: "/tasks", Query: []string{"user", "label", "share", "name", "state", "over", "sort", "after"},
			Show: w.tasksPage, Live: live(TasksPage.update)},
		{Name: "task", Path: "/tasks/{task}", Title: "Task", Nav: "/tasks", Query: []string{"state", "after"}, Show: w.taskPage},
		{Name: "job", Path: "/jobs/{job}", Title: "Job", Nav: "/tasks", Query: []string{"attempt"}, Show: w.jobPage},
		{Name: "resources", Path: "/resources", Title: "Resources", Nav: "/resources", Show: q.allResources},
		{Name: "resource", Path: "/resources/*", Title: "Resource", Nav: "/resources", Show: q.resource},
		{Name: "claims", Path: "/claims", Title: "Resource claims", Nav: "/resources", Query: []string{"task", "state", "node", "resource", "after"}, Show: q.claimsPage},
		{Name: "claim", Path: "/claims/{claim}", Title: "Resource claim", Nav: "/resources", Show: q.claimPage},
		{Name: "decisions", Path: "/decisions", Title: "Decisions", Nav: "/decisions", Query: []string{"share", "queue", "task", "job", "limit"}, Show: h.decisionsPage},
		{Name: "changes", Path: "/changes", Title: "Changes", Nav: "/changes", Query: []string{"who", "what", "object", "since", "after"}, Show: h.changesPage},
		{Name: "reports", Path: "/reports", Title: "Reports", Nav: "/reports", Show: r.told.list},
		{Name: "report", Path: "/reports/{report}", Nav: "/reports", Query: []string{"since", "by"}, Show: r.told.page, CSV: true},
	}
}

// acts lists what forms do.
func (r *rooms) acts() []Act {
	return []Act{
		{Path: "/tasks/{task}/say", Serve: r.work.tellTask},
		{Path: "/tasks/{task}/priority", Serve: r.work.prioritise},
		{Path: "/jobs/{job}/kill", Serve: r.work.killJob},
		{Path: "/queues/{queue}/state", Serve: r.places.setQueue},
		{Path: "/what-if", Serve: r.tree.rehearse},
		{Path: "/apply", Serve: r.tree.apply},
	}
}

// live is a View.Live of a value of one type.
func live[T Dated](update func(T) hub.Update) func(Dated) hub.Update {
	return func(d Dated) hub.Update { return update(d.(T)) }
}
